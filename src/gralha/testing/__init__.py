"""Real brokers for tests: in your own project's tests as well as in Gralha's.

```python
from gralha.testing import GralhaCluster

with GralhaCluster() as cluster:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    ...
    cluster.kill()       # as a power cut would: no goodbye, no flush
    cluster.restart()    # same ports, same data
```

With pytest nothing is needed but the fixture `gralha_cluster` (see `gralha.testing.plugin`).
Every broker is a process of its own on free loopback ports with its data in a temporary folder.
"""

from gralha.testing.cluster import GralhaCluster
from gralha.testing.process import ServerProcess, StartError

__all__ = ["GralhaCluster", "ServerProcess", "StartError"]
