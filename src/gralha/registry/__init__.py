"""The Schema Registry: Confluent's HTTP API over the compacted topic `_schemas`."""
