"""Avro schemas, with the rules of the Java library."""
