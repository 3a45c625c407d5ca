"""Gralha: an event streaming platform for Python people, speaking Apache Kafka's protocol."""

__version__ = "0.1.0"
