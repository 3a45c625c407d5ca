"""The metrics of a node, for Prometheus: `GET /metrics` (docs/METRICS.md lists them).

The hot paths only add to plain numbers: `request_meters.py` and `replication/counters.py`. Everything else is
computed when somebody asks. `exposition.py` is the text format, `server.py` answers HTTP requests, and each
other module has the metrics of one part of the node.

An answer may have hundreds of thousands of lines, so it is made in pieces. A collector is an iterator that
yields a piece after every `SLICE` samples, or an empty one after as much work. Other work of the event loop
runs between two pieces.
"""
