"""Authentication and rights: TLS, SASL exchanges, principals, ACLs, quotas and the audit log, as pure cores.

The server, the connections between nodes, and our own client share this room. It has no I/O: bytes, time and
randomness come in as arguments.
"""
