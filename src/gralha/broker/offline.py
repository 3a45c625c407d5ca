"""A node's folders while it is not running: what kafka-storage looks at and formats.

As in `run`, this is where the real disk, clock and chance come in. Whatever goes wrong is a FormatError with
a sentence for a person.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from random import SystemRandom

from gralha.broker.run import wall_clock_ms
from gralha.metadata.formatting import (
    FormatError,
    FormatPlan,
    FormattedFolder,
    MetaProperties,
    format_folders,
    random_uuid,
    read_meta_properties,
)
from gralha.storage.disk import DiskError, RealDisk


def new_uuid() -> bytes:
    return random_uuid(SystemRandom())


def read_identities(folders: Iterable[str]) -> dict[str, MetaProperties | None]:
    """Whose folders they are; None for those that have not been formatted."""
    with _for_a_person():
        disk = RealDisk()
        return {folder: read_meta_properties(disk, folder) for folder in folders}


def format_now(plan: FormatPlan) -> Iterator[FormattedFolder]:
    """Format the folders that are not formatted yet; each is yielded before it is written."""
    with _for_a_person():
        yield from format_folders(RealDisk(), plan, wall_clock_ms(), SystemRandom())


@contextmanager
def _for_a_person() -> Iterator[None]:
    try:
        yield
    except DiskError as error:
        raise FormatError(str(error)) from error
