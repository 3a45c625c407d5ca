"""Transactions inside a broker. The state machines are in `gralha.transactions`.

coordination.py  the coordinator of the transactional ids whose partition this broker leads
markers.py       writes the ends of decided transactions to their partitions, on all brokers
senders.py       one sender for each broker, for markers and questions
verifier.py      asks coordinators whether a transaction may write to a partition of this broker
"""
