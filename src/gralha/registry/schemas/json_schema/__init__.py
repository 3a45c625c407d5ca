"""JSON Schema, drafts 4 to 2020-12, as Confluent's registry reads and compares it."""
