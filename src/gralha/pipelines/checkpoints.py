"""The folder of a pipeline's checkpoint: what is in it, whether it is whole, and what comes next.

    <checkpoints>/<pipeline>/manifest.json     what made it (manifests.py)
    <checkpoints>/<pipeline>/checkpoint/       Spark's: metadata, offsets/, commits/, sources/, state/

Spark writes the offsets of a batch before it runs and a commit after it. So the newest offset is the newest
commit, or the one after it: then that batch is done again. Anything else is a broken checkpoint: files were
lost, or two programs wrote to it. Spark would fail with a stack trace, or go on and skip rows. It reads the
newest offsets and those before them; a file of offsets has a version, settings, and a line for each source.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gralha.pipelines.folders import Folder
from gralha.pipelines.manifests import Manifest

MANIFEST: Final = "manifest.json"
SPARK: Final = "checkpoint"
# What Spark's two state stores call their files.
STATE_FILES: Final = (".zip", ".changelog", ".delta", ".snapshot")


@dataclass(frozen=True)
class Checkpoint:
    """What is known of a checkpoint without starting Spark's query."""

    # None when there is none yet, or when it is broken.
    manifest: Manifest | None = None
    # The batch that a query would begin with; 0 when nothing was done yet.
    next_batch: int = 0
    # Whether that batch was begun before: its offsets are fixed, it will be done again.
    is_repeated: bool = False
    # What is broken, in a sentence.
    broken: str | None = None

    @property
    def is_new(self) -> bool:
        return self.manifest is None and self.broken is None


def inspect(folder: Folder) -> Checkpoint:
    """Look into the folder of a pipeline's checkpoint."""
    text = folder.read(MANIFEST)
    offsets, commits = _numbers(folder, "offsets"), _numbers(folder, "commits")
    if not offsets and not commits:
        if _has_state(folder):
            lost = "it has state, but its folders checkpoint/offsets and checkpoint/commits are empty or gone"
            return Checkpoint(broken=f"The checkpoint {folder.path} is broken: {lost}.")
        return Checkpoint()  # a query that never began its first batch left nothing worth keeping
    if text is None:
        return Checkpoint(broken=f"{folder.path} has no {MANIFEST}: no pipeline of Gralha wrote it.")
    try:
        manifest = Manifest.from_json(text)
    except ValueError as error:
        return Checkpoint(broken=f"{folder.path}/{MANIFEST} cannot be read ({error}).")
    broken = _damage(folder, manifest, offsets, commits)
    if broken is not None:
        return Checkpoint(broken=f"The checkpoint {folder.path} is broken: {broken}.")
    next_batch = commits[-1] + 1 if commits else 0
    return Checkpoint(manifest, next_batch, is_repeated=next_batch in offsets)


def put_aside(folder: Folder, now: datetime) -> str | None:
    """Move a checkpoint out of the way, for a pipeline that begins anew; returns where it is now."""
    if not folder.names():
        return None
    return folder.move_aside(now.strftime(".before-%Y%m%d-%H%M%S"))


def _damage(folder: Folder, manifest: Manifest, offsets: list[int], commits: list[int]) -> str | None:
    """What is wrong with Spark's files, if anything."""
    if not _is_metadata(folder.read(f"{SPARK}/metadata")):
        return "its file checkpoint/metadata is missing or empty"
    newest = offsets[-1] if offsets else -1
    committed = commits[-1] if commits else -1
    if newest not in (committed, committed + 1):
        return (
            f"the newest batch in checkpoint/offsets is {_batch(newest)}, "
            f"but in checkpoint/commits it is {_batch(committed)}"
        )
    lines = {"offsets": 2 + max(1, len(manifest.sources)), "commits": 2}
    for kind, number in (("offsets", newest), ("offsets", newest - 1), ("commits", committed)):
        if number >= 0 and not _is_log_entry(folder.read(f"{SPARK}/{kind}/{number}"), lines[kind]):
            return f"its file checkpoint/{kind}/{number} is missing, empty or cut off"
    if manifest.stateful and committed >= 0 and not _has_state(folder):
        return "its folder checkpoint/state is gone or empty, and with it all that was remembered"
    return None


def _has_state(folder: Folder) -> bool:
    """Whether there is a file of state, in the folder of a partition or in one below it (joins)."""
    for operator in folder.names(f"{SPARK}/state"):
        for partition in folder.names(f"{SPARK}/state/{operator}"):
            place = f"{SPARK}/state/{operator}/{partition}"
            names = folder.names(place) if partition.isdigit() else []
            if _are_state(names) or any(_are_state(folder.names(f"{place}/{name}")) for name in names):
                return True
    return False


def _are_state(names: list[str]) -> bool:
    return any(name.endswith(STATE_FILES) and not name.startswith(".") for name in names)


def _is_metadata(text: str | None) -> bool:
    try:
        return bool(json.loads(text or "")["id"])
    except (ValueError, KeyError, TypeError):
        return False


def _is_log_entry(text: str | None, lines_min: int) -> bool:
    """Whether a file of Spark's logs is whole: a version, then lines of JSON or a dash."""
    lines = (text or "").splitlines()
    if len(lines) < lines_min or not lines[0].startswith("v"):
        return False
    return all(_is_json(line) for line in lines[1:])


def _is_json(line: str) -> bool:
    if line.strip() in ("", "-"):
        return True
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _numbers(folder: Folder, kind: str) -> list[int]:
    return sorted(int(name) for name in folder.names(f"{SPARK}/{kind}") if name.isdigit())


def _batch(number: int) -> str:
    return "none" if number < 0 else str(number)
