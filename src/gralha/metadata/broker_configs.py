"""The broker configs that `server.properties` may set, in the notation of `config_notation`.

Names, types, defaults and limits are those of Apache Kafka 4.3; the sentences are ours. Two defaults differ
on purpose: `max.connections` and `max.connections.per.ip` are finite. Settings that tune Kafka's threads are
accepted, so that a Kafka user's file works unchanged, and their documentation says that they have no effect.
`broker_log_configs` has the keys for logs and replicas, `broker_coordinator_configs` the keys for groups and
transactions, `broker_security_configs` the keys for TLS, `broker_sasl_configs` those for SASL,
`broker_token_configs` those for delegation tokens. Keys that Kafka does not have begin with `gralha.`.
"""

from typing import Final

from gralha.metadata.broker_coordinator_configs import COORDINATOR_SECTIONS
from gralha.metadata.broker_log_configs import LOG_SECTIONS
from gralha.metadata.broker_rights_configs import RIGHTS_SECTIONS
from gralha.metadata.broker_sasl_configs import SASL_SECTIONS
from gralha.metadata.broker_security_configs import SECURITY_SECTIONS
from gralha.metadata.broker_token_configs import TOKEN_SECTIONS
from gralha.metadata.config_notation import read_keys
from gralha.metadata.config_types import ConfigKey

_NODE: Final = """
process.roles: list required; at least one of broker, controller; high
    The roles of this process: 'broker', 'controller', or 'broker,controller' for both.
node.id: int required; at least 0; high
    The id of this node. No other broker or controller of the cluster may have it.
broker.id: int = -1; high
    The old name of node.id. If both are set, they must be equal.
broker.rack: string
    The rack or zone of this broker, such as 'us-east-1a'. The controller spreads replicas over racks, and
    consumers may read from a replica in their own rack.
listeners: list = PLAINTEXT://:9092; distinct, not empty; high
    The addresses to listen on, each NAME://host:port. An empty host means all interfaces, port 0 any free
    port. A name that is not a security protocol needs an entry in listener.security.protocol.map.
advertised.listeners: list; distinct, not empty; high
    The addresses that clients and other brokers connect to, if they differ from listeners (behind NAT, in
    containers). Each must name a host. 0.0.0.0 is not allowed: nobody can connect to it.
listener.security.protocol.map: string =
  SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT; low; per-broker
    The security protocol of each listener name, as NAME:PROTOCOL pairs separated by commas. Set it in the
    file: a dynamic value has no effect yet.
controller.listener.names: list required; distinct, not empty; high
    The names of the controllers' listeners. Other nodes connect to the first one. Brokers without the
    controller role need the name too, but must not list it under listeners.
inter.broker.listener.name: string
    The name of the listener that brokers use between each other. By default it is the listener with the
    protocol security.inter.broker.protocol.
security.inter.broker.protocol: string = PLAINTEXT; one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
    The security protocol between brokers if inter.broker.listener.name is not set.
early.start.listeners: list; high
    The listeners that open before the ACLs are loaded, by default those of controller.listener.names. Until
    then only super users pass. The listeners of controllers always open early, because controllers load the
    ACLs from each other. A broker opens its listeners when it has loaded the ACLs, as in Apache Kafka.
"""

_QUORUM: Final = """
controller.quorum.voters: list =; distinct; high
    The voting controllers, as id@host:port separated by commas, if this file defines them.
controller.quorum.bootstrap.servers: list =; distinct; high
    Addresses of controllers, if the voters are recorded in the metadata log (KIP-853).
controller.quorum.auto.join.enable: boolean = false; low
    Accepted without effect: a controller becomes a voter with kafka-metadata-quorum add-controller.
controller.quorum.election.timeout.ms: int = 1000; at least 0; high
    How long a candidate collects votes before it tries again.
controller.quorum.election.backoff.max.ms: int = 1000; at least 0; high
    The longest random pause after an election without a winner.
controller.quorum.fetch.timeout.ms: int = 2000; at least 0; high
    A voter that has not reached the leader for this long calls an election. A leader resigns if a majority
    has not fetched for one and a half times this long.
controller.quorum.fetch.max.bytes: int = 1048576; at least 1; low
    Accepted without effect: a follower asks for at most 8 MiB of the metadata log in one fetch.
controller.quorum.fetch.snapshot.max.bytes: int = 1048576; at least 1; low
    Accepted without effect: a follower asks for at most 8 MiB of a snapshot in one request.
controller.quorum.append.linger.ms: int = 25; at least 0
    Accepted without effect: the leader writes as soon as the disk is free. It collects records only while
    the disk is busy.
controller.quorum.request.timeout.ms: int = 2000; at least 0
    How long a voter waits for the answer of another voter.
controller.quorum.retry.backoff.ms: int = 20; at least 0; low
    The pause before a voter repeats a failed request to another voter.
metadata.log.dir: string; high
    The folder of the metadata log. By default it is the first of log.dirs.
metadata.log.segment.bytes: int = 1073741824; at least 8388608; high
    The size at which a segment of the metadata log is closed.
metadata.log.segment.ms: long = 604800000; high
    The age at which a segment of the metadata log is closed.
metadata.log.max.record.bytes.between.snapshots: long = 20971520; at least 1; high
    A new snapshot of the metadata is written after about this many bytes of new records.
metadata.log.max.snapshot.interval.ms: long = 3600000; at least 0; high
    A new snapshot of the metadata is written at least this often while records arrive; 0 means that only
    the size decides.
metadata.max.idle.interval.ms: int = 500; at least 0; low
    The active controller writes an empty record after this much silence, so that the high watermark of the
    metadata log keeps moving; 0 means never.
metadata.max.retention.bytes: long = 104857600; high
    How many bytes of the metadata log and of old snapshots are kept besides the newest snapshot.
metadata.max.retention.ms: long = 604800000; high
    How long the metadata log and old snapshots are kept besides the newest snapshot.
initial.broker.registration.timeout.ms: int = 60000
    How long a starting broker tries to register with the controller before it gives up.
broker.heartbeat.interval.ms: int = 2000
    How often a broker sends a heartbeat to the controller.
broker.session.timeout.ms: int = 9000
    The controller fences a broker that sends no heartbeat for this long: other brokers lead its partitions.
controlled.shutdown.enable: boolean = true
    Accepted without effect: a broker always hands its leadership to other brokers before it stops.
leader.imbalance.check.interval.seconds: long = 300; at least 1; high
    How often the controller looks for partitions whose leader is not the preferred replica.
auto.leader.rebalance.enable: boolean = true; high
    Does the controller give leadership back to preferred replicas by itself?
unclean.leader.election.interval.ms: long = 300000; at least 1; internal
    How often the controller looks for partitions without a leader whose topic allows unclean elections.
"""

_SOCKETS: Final = """
socket.request.max.bytes: int = 104857600; at least 1; high
    The largest request that a client may send. The broker closes the connection of a larger one.
socket.send.buffer.bytes: int = 102400; high
    Accepted without effect: the operating system sizes the send buffers of connections.
socket.receive.buffer.bytes: int = 102400; high
    Accepted without effect: the operating system sizes the receive buffers of connections.
socket.listen.backlog.size: int = 50; at least 1
    Accepted without effect: 1024 connections may wait to be accepted on each listener.
socket.connection.setup.timeout.ms: long = 10000
    Accepted without effect: the time-out of a request to another node includes the time to connect.
socket.connection.setup.timeout.max.ms: long = 30000
    Accepted without effect: see socket.connection.setup.timeout.ms.
connections.max.idle.ms: long = 600000
    The broker closes a connection that has had no request for this long.
max.connections: int = 10000; at least 0; cluster-wide
    How many connections the broker accepts at once. Apache Kafka has no limit by default. Gralha has one, so
    that a broken client cannot use up the file descriptors. Another broker is let in all the same if brokers
    have a listener of their own: the idlest connection of another listener is closed for it.
    listener.name.<listener>.max.connections limits one listener.
max.connections.per.ip: int = 5000; at least 0; cluster-wide
    How many connections one client address may have. Apache Kafka has no limit by default.
max.connections.per.ip.overrides: string =; connection counts; cluster-wide
    Limits of single addresses in place of max.connections.per.ip, as in 10.0.0.1:200,localhost:500.
max.connection.creation.rate: int = max; at least 0; cluster-wide
    How many new connections per second the broker serves. More of them wait, or are closed at once if others
    wait longer than 5 s. Connections between nodes do not count if they have a listener of their own.
    listener.name.<listener>.max.connection.creation.rate limits one listener, also that of nodes.
request.timeout.ms: int = 30000; high
    How long a broker waits for the answer of another one about a transaction. Requests of replication and of
    the quorum have replica.socket.timeout.ms and controller.quorum.request.timeout.ms.
fetch.max.bytes: int = 57671680; at least 1024
    The most bytes in the answer to one fetch. A single larger batch is still sent whole.
max.incremental.fetch.session.cache.slots: int = 1000; at least 0
    How many incremental fetch sessions (KIP-227) the broker keeps.
max.request.partition.size.limit: int = 2000; at least 1
    The most partitions in one DescribeTopicPartitions answer.
queued.max.requests: int = 500; at least 1; high
    Accepted without effect: the broker stops reading from a connection that has 4 MiB of requests in it,
    or 256 requests (8 if they are fetches).
queued.max.request.bytes: long = -1
    Accepted without effect: see queued.max.requests.
"""

_TOPIC_POLICY: Final = """
num.partitions: int = 1; at least 1
    The number of partitions of a new topic if the request does not say it.
default.replication.factor: int = 1
    The number of replicas of a new topic if the request does not say it.
auto.create.topics.enable: boolean = true; high
    Does the broker create a topic when a client asks for one that does not exist?
delete.topic.enable: boolean = true; high
    May topics be deleted at all?
min.insync.replicas: int = 1; at least 1; high; cluster-wide
    The default of the topic config of the same name: how many replicas must be in sync for a write with
    acks=all. The file counts only when the cluster is created. Change it later for all brokers.
unclean.leader.election.enable: boolean = false; high; cluster-wide
    The default of the topic config of the same name: may a replica that is not in sync become leader?
"""

_THREADS: Final = """
num.network.threads: int = 3; at least 1; high; cluster-wide
    Accepted without effect: one event loop serves all connections.
num.io.threads: int = 8; at least 1; high; cluster-wide
    Accepted without effect: one event loop handles all requests.
background.threads: int = 10; at least 1; high; cluster-wide
    Accepted without effect: background work runs on the event loop and a small pool of threads.
num.replica.fetchers: int = 1; at least 1; high; cluster-wide
    Accepted without effect: a follower has up to four connections to each leader.
num.replica.alter.log.dirs.threads: int; high
    Accepted without effect: replicas cannot be moved between folders yet.
num.recovery.threads.per.data.dir: int = 2; at least 1; high; cluster-wide
    Accepted without effect: Gralha chooses the number of threads itself.
fetch.purgatory.purge.interval.requests: int = 1000
    Accepted without effect: a waiting fetch that is done leaves no trace.
producer.purgatory.purge.interval.requests: int = 1000
    Accepted without effect: a waiting write that is done leaves no trace.
delete.records.purgatory.purge.interval.requests: int = 1
    Accepted without effect: a waiting deletion that is done leaves no trace.
metric.reporters: list =; low; cluster-wide
    Accepted without effect: it names Java classes.
metrics.num.samples: int = 2; at least 1; low
    Accepted without effect: Gralha has no metrics of this kind.
metrics.sample.window.ms: long = 30000; at least 1; low
    Accepted without effect: Gralha has no metrics of this kind.
metrics.recording.level: string = INFO; low
    Accepted without effect: Gralha has no metrics of this kind.
create.topic.policy.class.name: class; low
    Accepted without effect: a config never names code to load.
alter.config.policy.class.name: class; low
    Accepted without effect: a config never names code to load.
"""

_GRALHA: Final = """
gralha.metrics.listener: string
    Where this node serves its metrics for Prometheus, as http://host:port. Without it the node serves none.
    Kafka has no such setting: there an agent (JMX exporter) serves them.
"""

# docs/CONFIGURATION.md has a table for each section.
BROKER_SECTIONS: Final[dict[str, str]] = {
    "The node and its listeners": _NODE,
    "The quorum and the metadata": _QUORUM,
    "Connections and requests": _SOCKETS,
    "New topics": _TOPIC_POLICY,
    **SECURITY_SECTIONS,
    **LOG_SECTIONS,
    **COORDINATOR_SECTIONS,
    **SASL_SECTIONS,
    **TOKEN_SECTIONS,
    **RIGHTS_SECTIONS,
    "Threads and metrics": _THREADS,
    "Of Gralha alone": _GRALHA,
}

BROKER_CONFIGS: Final[dict[str, ConfigKey]] = read_keys("".join(BROKER_SECTIONS.values()))
