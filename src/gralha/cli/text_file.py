"""Text files for commands: properties, JSON."""

from gralha.cli.program import CommandError


def read_text(path: str, what: str) -> str:
    """The text of a file. Raises CommandError with the file and the reason if it cannot be read.

    The text is UTF-8. If it is not, it is read as Latin-1, the traditional encoding of Java's properties
    files. In Latin-1 every byte is a character, so this never fails.
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
