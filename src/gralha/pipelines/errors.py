"""What can be wrong with a pipeline, each said in one sentence to the person who wrote or runs it.

PipelineError                something that a person has to mend; str(error) is the whole message
+-- DeclarationError         `@pipeline(...)` does not make sense: says file, line and function
+-- LoadError                the file cannot be loaded: says file and line
+-- CannotStartError         the plan has problems (`error.problems`): a wrong topic, a wrong schema,
                             an unreachable broker, a checkpoint that is broken or does not fit
"""

from collections.abc import Sequence


class PipelineError(Exception):
    """Something is wrong that a person has to mend; the message says what, and what to type next."""


class DeclarationError(PipelineError):
    """A declaration that makes no sense."""


class LoadError(PipelineError):
    """A file with pipelines that cannot be loaded."""


class CannotStartError(PipelineError):
    """A pipeline whose plan has problems: one sentence for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)
