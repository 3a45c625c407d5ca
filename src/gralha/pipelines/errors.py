"""The errors of pipelines. Each is one sentence for the person who wrote or runs the pipeline.

PipelineError                an error that a person has to fix; str(error) is the whole message
+-- DeclarationError         `@pipeline(...)` is wrong: the message has file, line and function
+-- LoadError                the file cannot be loaded: the message has file and line
+-- CannotStartError         the plan has problems (`error.problems`): a wrong topic, a wrong schema,
                             an unreachable broker, a checkpoint that is broken or does not fit
"""

from collections.abc import Sequence


class PipelineError(Exception):
    """An error that a person has to fix. The message says what is wrong, and what to type next."""


class DeclarationError(PipelineError):
    """A wrong declaration."""


class LoadError(PipelineError):
    """A file with pipelines cannot be loaded."""


class CannotStartError(PipelineError):
    """The plan of a pipeline has problems, one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)
