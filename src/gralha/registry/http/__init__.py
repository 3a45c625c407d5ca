"""Confluent's HTTP API of the Schema Registry."""
