"""Compiles the programs in C if needed, and runs load.c with frames."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.frames import Frame

FOLDER = Path(__file__).parent
PROGRAMS = FOLDER.parent / "build" / "bench"
# The source of each program, and its options for the compiler.
LOAD, LOAD_TLS, LOGINS = "load", "load-tls", "logins"
SOURCES = {
    LOAD: ("load.c", []),
    LOAD_TLS: ("load.c", ["-DTLS", "-lssl", "-lcrypto"]),
    LOGINS: ("logins.c", ["-lssl", "-lcrypto", "-lpthread"]),
}


@dataclass(frozen=True)
class Load:
    """The results of one run of the load."""

    requests: int
    seconds: float
    received_bytes: int
    p50_ms: float
    p99_ms: float
    cpu_seconds: float  # of the load itself


def compiled(name: str) -> Path:
    """The path of a program. It is compiled if its source is newer."""
    source, options = SOURCES[name]
    path, program = FOLDER / source, PROGRAMS / name
    if not program.exists() or program.stat().st_mtime < path.stat().st_mtime:
        if shutil.which("gcc") is None:
            raise RuntimeError("gcc not found; install it to compile the load of the benchmark")
        PROGRAMS.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["gcc", "-O2", "-Wall", "-o", str(program), str(path), *options], capture_output=True, text=True
        )
        if done.returncode != 0:
            advice = (
                "; run scripts/setup_system for the headers of OpenSSL" if "openssl/" in done.stderr else ""
            )
            raise RuntimeError(f"{source} cannot be compiled{advice}\n{done.stderr.strip()}")
    return program


def run_load(
    port: int | Sequence[int],
    frames: Sequence[Frame],
    requests: int,
    in_flight: int,
    offset_step: int = 0,
    offset_limit: int = 1,
    sequence_step: int = 0,
    tls: bool = False,
) -> Load:
    """Send that many requests in total, over one connection for each frame. All of them must succeed.

    The connections use the ports in turn. Sequence numbers begin at 0, so each run needs new producers. With
    `tls` the connections are encrypted, and a certificate of the broker is not checked.
    """
    numbers = [in_flight, requests, frames[0].error_at, frames[0].offset_at, offset_step, offset_limit]
    return run(
        port, frames, [*numbers, frames[0].sequence_at, sequence_step, -1, 1], LOAD_TLS if tls else LOAD
    )


def follow_log(port: int, frames: Sequence[Frame], batch_records: int, batch_bytes: int, end: int) -> Load:
    """Read from offset 0 to the end as consumers do, over one connection for each frame.

    The log may still be written at the same time. All its batches have that many records and bytes.
    """
    numbers = [1, 0, frames[0].error_at, frames[0].offset_at, batch_records, end]
    return run(port, frames, [*numbers, -1, 0, frames[0].records_at, batch_bytes])


def run(port: int | Sequence[int], frames: Sequence[Frame], numbers: Sequence[int], name: str = LOAD) -> Load:
    program = compiled(name)
    ports = ",".join(map(str, [port] if isinstance(port, int) else port))
    with tempfile.TemporaryDirectory(prefix="gralha-bench-") as folder:
        paths = []
        for number, frame in enumerate(frames):
            path = Path(folder) / str(number)
            path.write_bytes(frame.data)
            paths.append(str(path))
        command = [str(program), ports, *map(str, numbers), *paths]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return Load(**json.loads(done.stdout))
