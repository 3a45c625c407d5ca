"""SASL: the exchanges that prove who the other end of a connection is, for servers and for clients.

An exchange is pure: bytes go in and bytes come out, while time and randomness are arguments. The connection
around it decides how the bytes travel. `exchange.py` has the interface, and each mechanism has its own files.
Kerberos (GSSAPI) is not here.
"""
