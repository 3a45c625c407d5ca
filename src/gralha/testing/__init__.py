"""Real brokers for tests, for your own project's as well as for Gralha's.

```python
from gralha.testing import GralhaCluster

with GralhaCluster() as cluster:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    ...
    cluster.kill()       # like a crash: no goodbye, no flush
    cluster.restart()    # same ports, same data
```

With pytest, use the fixture `gralha_cluster` (see `gralha.testing.plugin`). With
`GralhaCluster(security="sasl_ssl")` the cluster has TLS, logins and rights.
Every broker is a process on free loopback ports, with its data in a temporary folder.
"""

from gralha.testing.cluster import GralhaCluster
from gralha.testing.process import ServerProcess, StartError

__all__ = ["GralhaCluster", "ServerProcess", "StartError"]
