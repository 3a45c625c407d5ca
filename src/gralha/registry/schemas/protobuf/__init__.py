"""Protobuf schemas: `.proto` files as Confluent's registry reads, writes and compares them."""
