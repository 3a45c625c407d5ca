"""Text files that people hand to a command: properties, JSON."""

from gralha.cli.program import CommandError


def read_text(path: str, what: str) -> str:
    """The text of a file; a CommandError that says what file cannot be read, and why.

    Text is UTF-8. What is not UTF-8 is taken for Latin-1, in which Java has always written its properties
    files: every byte is a character there, so this never fails.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise CommandError(f"Cannot read {what} {path}: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")
