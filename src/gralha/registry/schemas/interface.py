"""The registry's view of a schema. It is the same for all formats."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

# Marks in the template of a problem, for "new" and "old": it depends on the level which of the two reads.
READER = "\x0e"
WRITER = "\x0f"

# Confluent's policies of compatibility. Only JSON Schema knows a difference: LENIENT allows more.
STRICT = "STRICT"
LENIENT = "LENIENT"

# The registry stops comparing two schemas after so many steps, so that no pair of schemas keeps it busy.
COMPARISONS_MAX = 2_000_000
# A comparison reports at most so many problems.
PROBLEMS_MAX = 1000

TOO_LARGE = (
    "{errorType:'TOO_LARGE', "
    "description:'The schemas are too large or too deep to be compared', additionalInfo:''}"
)


class Reference(NamedTuple):
    """A schema that another schema uses: its name there, and where it is registered."""

    name: str
    subject: str
    version: int


class InvalidSchemaError(Exception):
    """A text is no schema of its format. The message says why."""


class ParsedSchema(Protocol):
    """A valid schema."""

    @property
    def schema_type(self) -> str:
        """AVRO, PROTOBUF or JSON."""

    @property
    def canonical(self) -> str:
        """The text that the registry stores and returns."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The schemas that this one uses."""

    def normalized(self) -> "ParsedSchema":
        """The same schema in a form that does not depend on the order of its properties.

        Raises InvalidSchemaError if the schema has no such form, which is rare.
        """

    def raw_or_format(self, format: str) -> str:  # noqa: A002
        """The text in a format that Confluent's API names. An unknown format is the canonical text.

        Raises InvalidSchemaError if the format cannot express the schema.
        """

    def has_top_level_field(self, name: str) -> bool:
        """Whether the schema is a record, message or object with this field."""

    def templates(self, older: "ParsedSchema", policy: str = STRICT) -> list[str]:
        """The problems of `backward_problems`, with READER and WRITER in place of "new" and "old"."""

    def backward_problems(self, older: "ParsedSchema") -> list[str]:
        """Reasons why this schema cannot read data written with the older schema."""


class Parser(Protocol):
    """The function `parse` of a format. `new` is False for a schema that is already registered."""

    def __call__(
        self, text: str, references: Sequence[Reference], resolved: Mapping[str, str], *, new: bool
    ) -> ParsedSchema: ...


@contextmanager
def no_deep_recursion() -> Iterator[None]:
    """Refuses a schema whose walk needs more of Python's stack than there is."""
    try:
        yield
    except RecursionError:
        raise InvalidSchemaError("The schema is nested too deeply.") from None


def normal_references(references: Sequence[Reference]) -> tuple[Reference, ...]:
    """References as Confluent orders them in a normalized schema: each once, by subject and version."""
    unique = dict.fromkeys(references)
    return tuple(sorted(unique, key=lambda reference: (reference.subject, reference.version)))


def fill(template: str, reader: str, writer: str) -> str:
    """The text of a problem."""
    return template.replace(READER, reader).replace(WRITER, writer)
