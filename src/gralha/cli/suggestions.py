"""Finds the name that a person probably meant: "did you mean" for options, commands and topics."""

from collections.abc import Collection
from typing import Final

# Options of earlier versions of Kafka that old texts still show.
_NOT_ANY_MORE: Final = {
    "--zookeeper": "Kafka has no ZooKeeper any more: use --bootstrap-server localhost:9092",
    "--whitelist": "use --include",
    "--blacklist": "use --include with an expression that leaves the topics out",
    "--new-consumer": "leave it out: there is only one kind of consumer now",
    "--threads": "leave it out: it had no effect for years",
    "--num-fetch-threads": "leave it out: it had no effect for years",
}


# What people type from other systems' commands.
_OTHER_NAMES: Final = {
    "start": ("up", "run"),
    "run": ("up",),
    "ls": ("list", "topics", "status"),
    "ps": ("status",),
    "list": ("status",),
    "produce": ("console-producer",),
    "consume": ("console-consumer",),
    "producer": ("console-producer",),
    "consumer": ("console-consumer",),
    "kill": ("stop",),
    "log": ("logs",),
    "new": ("init",),
    "create": ("init",),
}


def similar(word: str, known: Collection[str]) -> str | None:
    """The known name that is most like the word, or the only one that begins with it. None without such."""
    # Only after a mistake, because the import takes time.
    from difflib import get_close_matches

    folded = {name.lower(): name for name in known}
    word = word.lower()
    if nearly := get_close_matches(word, folded, n=1, cutoff=0.8):
        return folded[nearly[0]]
    longer = [name for name in folded if name.startswith(word)] if len(word) > 2 else []
    if len(longer) == 1:
        return folded[longer[0]]
    like = get_close_matches(word, folded, n=1, cutoff=0.7)
    return folded[like[0]] if like else None


def misspelt(word: str, known: Collection[str]) -> str | None:
    """The known name that the word is with a letter or two wrong. None if it may be another name."""
    from difflib import get_close_matches

    nearly = get_close_matches(word.lower(), known, n=1, cutoff=0.9)
    return nearly[0] if nearly and nearly[0] != word else None


def did_you_mean(word: str, known: Collection[str], form: str = "{}") -> str:
    """The end of an error: " Did you mean NAME?", or nothing. `form` shows the name."""
    name = next((other for other in _OTHER_NAMES.get(word, ()) if other in known), None) or similar(
        word, known
    )
    return "" if name is None else f" Did you mean {form.format(name)}?"


def option_for(word: str, known: Collection[str], words: Collection[str]) -> str | None:
    """The option whose value a word is, that stands alone: a file, a number of brokers, or a topic."""
    wanted: tuple[str, ...]
    if word.endswith(".properties"):
        wanted = ("--config", "--command-config")
    elif word.endswith((".log", ".index", ".timeindex", ".checkpoint", ".snapshot")):
        wanted = ("--files", "--snapshot")
    elif word.isdigit():
        wanted = ("--brokers",)
    else:
        wanted = ("--topic", "--group")
    given = {other.partition("=")[0] for other in words}
    return next((option for option in wanted if option in known and option not in given), None)


def about_option(word: str, known: Collection[str]) -> str:
    """The end of an error about an unknown option: what to use now, or what was probably meant."""
    advice = _NOT_ANY_MORE.get(word)
    if advice is not None:
        return f": {advice}"
    meant = did_you_mean(word, known)
    return f".{meant}" if meant else ""
