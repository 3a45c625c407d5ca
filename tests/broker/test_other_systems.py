"""A broker on a system that lacks cachestat, sendfile, RWF_NOWAIT, fallocate and fdatasync, such as macOS."""

from __future__ import annotations

import errno
import fcntl
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

import gralha
from gralha.testing.process import ServerProcess, free_ports

PATIENCE_S = 60


def test_a_broker_serves_large_fetches(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "tests.broker.other_system", "up", "--port", str(port)]
    broker = ServerProcess([*command, "--data", str(tmp_path / "data")], tmp_path / "log")
    try:
        broker.wait_ready(port)
        address = {"bootstrap.servers": f"localhost:{port}"}
        producer = Producer({**address, "linger.ms": 50})
        values = [os.urandom(100_000) for _ in range(40)]
        for value in values:
            producer.produce("large", value, partition=0)
        assert producer.flush(PATIENCE_S) == 0
        consumer = Consumer({**address, "group.id": "readers", "auto.offset.reset": "earliest"})
        consumer.subscribe(["large"])
        read: list[bytes | None] = []
        while len(read) < len(values):
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.error() is None
            read.append(message.value())
        consumer.close()
        assert read == values
    finally:
        exit_code = broker.stop()
    assert exit_code == 0, broker.log_tail()


def plain_system_calls() -> dict[str, Any]:
    """The module as it is when it is imported now. The compiled one was imported before."""
    return runpy.run_path(str(Path(gralha.__file__).parent / "storage/system_calls.py"))


@pytest.mark.parametrize("refusal", [None, errno.ENOTSUP, errno.EINVAL, errno.ENOTTY])
def test_macos_syncs_the_device_if_the_file_system_can(
    monkeypatch: pytest.MonkeyPatch, refusal: int | None
) -> None:
    calls: list[str] = []

    def full_sync(number: int, command: int) -> None:
        calls.append(f"full {command}")
        if refusal is not None:
            raise OSError(refusal, os.strerror(refusal))

    monkeypatch.delattr(os, "fdatasync", raising=False)
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full_sync)
    monkeypatch.setattr(os, "fsync", lambda number: calls.append("fsync"))
    plain_system_calls()["sync_data"](3)
    assert calls == (["full 51"] if refusal is None else ["full 51", "fsync"])


def test_a_sync_that_fails_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(number: int, command: int) -> None:
        raise OSError(errno.EIO, "broken device")

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", fail)
    with pytest.raises(OSError, match="broken device"):
        plain_system_calls()["sync"](3)
