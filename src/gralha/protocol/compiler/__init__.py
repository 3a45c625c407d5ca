"""The compiler of message definitions: `python -m gralha.protocol.compiler`.

    definitions/*.kafka --notation.parse--> model.Definition --generate.module--> messages/*.py

`notation` explains the notation. The generated modules are committed; a test tells when they are stale.
"""
