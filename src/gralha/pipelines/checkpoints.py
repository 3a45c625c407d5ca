"""The folder of a pipeline's checkpoint: its content, its damage, and the next batch.

    <checkpoints>/<pipeline>/manifest.json     describes the pipeline (manifests.py)
    <checkpoints>/<pipeline>/checkpoint/       Spark's files: metadata, offsets/, commits/, sources/, state/

Spark writes the offsets of a batch before the batch and a commit after it. So the newest offsets have the
number of the newest commit, or the next number: then Spark repeats that batch. Any other combination means a
broken checkpoint: files were lost, or two programs wrote to it. Spark would fail with a stack trace, or
continue and skip rows. Spark reads the newest offsets and those before them. A file of offsets has a version,
settings, and a line for each source.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gralha.pipelines.folders import Folder
from gralha.pipelines.manifests import Manifest

MANIFEST: Final = "manifest.json"
SPARK: Final = "checkpoint"
# The file names in Spark's two state stores.
STATE_FILES: Final = (".zip", ".changelog", ".delta", ".snapshot")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, as far as it is known without Spark."""

    # None if there is none yet, or if it is broken.
    manifest: Manifest | None = None
    # The first batch of the next query. 0 if no batch is done yet.
    next_batch: int = 0
    # True if that batch was started before. Its offsets are fixed, and it is repeated.
    is_repeated: bool = False
    # A sentence that says what is broken, or None.
    broken: str | None = None

    @property
    def is_new(self) -> bool:
        return self.manifest is None and self.broken is None


def inspect(folder: Folder) -> Checkpoint:
    """Reads the folder of a pipeline's checkpoint."""
    text = folder.read(MANIFEST)
    offsets, commits = _numbers(folder, "offsets"), _numbers(folder, "commits")
    if not offsets and not commits:
        if _has_state(folder):
            lost = (
                "it has state, but its folders checkpoint/offsets and checkpoint/commits are empty or missing"
            )
            return Checkpoint(broken=f"The checkpoint {folder.path} is broken: {lost}.")
        return Checkpoint()  # a query that never started its first batch
    if text is None:
        return Checkpoint(broken=f"{folder.path} has no {MANIFEST}: Gralha did not write it.")
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
    """Moves a checkpoint away, for a pipeline that starts again. Returns its new path."""
    if not folder.names():
        return None
    return folder.move_aside(now.strftime(".before-%Y%m%d-%H%M%S"))


def _damage(folder: Folder, manifest: Manifest, offsets: list[int], commits: list[int]) -> str | None:
    """Returns what is wrong with Spark's files, or None."""
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
            return f"its file checkpoint/{kind}/{number} is missing, empty or truncated"
    if manifest.stateful and committed >= 0 and not _has_state(folder):
        return "its folder checkpoint/state is missing or empty, so the state is lost"
    return None


def _has_state(folder: Folder) -> bool:
    """Returns True if there is a state file, in the folder of a partition or one below it (joins)."""
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
    """Returns True if a file in a Spark log is complete: a version, then lines of JSON or a dash."""
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
