"""Runs an Apache Kafka broker once, to keep the classes that it loads; called by `scripts/keep_classes`."""

from __future__ import annotations

from tests.apache.kafka import ARCHIVE, QUICK_FLAGS, ApacheKafka


def main() -> None:
    """Java writes the archive when the broker ends."""
    broker = ApacheKafka(flags=[*QUICK_FLAGS, f"-XX:ArchiveClassesAtExit={ARCHIVE}"]).start()
    broker.stop()
    broker.close()


if __name__ == "__main__":
    main()
