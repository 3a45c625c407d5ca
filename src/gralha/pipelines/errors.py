"""The errors of pipelines. Each is one sentence for the person who wrote or runs the pipeline.

PipelineError                an error that a person has to fix; str(error) is the whole message
+-- DeclarationError         `@pipeline(...)` is wrong: the message has file, line and function
+-- LoadError                the file cannot be loaded: the message has file and line
|   +-- SparkNeededError     the file uses Spark while it is loaded: start Spark and load it again
+-- CannotStartError         the plan has problems (`error.problems`): a wrong topic, a wrong schema,
                             an unreachable broker, a checkpoint that is broken or does not fit
"""

from collections.abc import Mapping, Sequence


class PipelineError(Exception):
    """An error that a person has to fix. The message says what is wrong, and what to type next."""


class DeclarationError(PipelineError):
    """A wrong declaration."""


class LoadError(PipelineError):
    """A file with pipelines cannot be loaded."""


class SparkNeededError(LoadError):
    """A file uses Spark at its top level, and no Spark runs. `settings` are those that it asks for itself."""

    def __init__(self, sentence: str, settings: Mapping[str, str]) -> None:
        super().__init__(sentence)
        self.settings = dict(settings)


class CannotStartError(PipelineError):
    """The plans of pipelines have problems, one sentence each. `problems` has them by pipeline."""

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        self.problems = {pipeline: list(sentences) for pipeline, sentences in problems.items()}
        super().__init__("\n".join(self.sentences))

    @property
    def sentences(self) -> list[str]:
        """All problems."""
        return [sentence for sentences in self.problems.values() for sentence in sentences]
