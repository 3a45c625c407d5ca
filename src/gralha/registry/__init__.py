"""The Schema Registry: schemas by subject and version, with Confluent's HTTP API.

`state.py` is what the registry knows. A request decides (`registering.py`, `deleting.py`, `settings.py`) on
an answer and on records. Only records that are read from the topic `_schemas` (`records.py`, `store.py`)
change the state. One instance is the leader (`election.py`) and decides; the others forward writes to it.
`http/` is the API, and `service.py` is between the two.
"""
