"""The broker configs a person can set in `server.properties`, in the notation of `config_notation`.

Names, types, defaults and limits are those of Apache Kafka 4.3; the sentences are ours. Defaults that differ
on purpose say so: `max.connections` and `max.connections.per.ip` are finite. Settings that tune Kafka's
threads are accepted, so that a Kafka user's file starts here unchanged, and say that they have no effect. The
keys for logs and replicas are in `broker_log_configs`, those for groups and transactions in
`broker_coordinator_configs`.
"""

from typing import Final

from gralha.metadata.broker_coordinator_configs import COORDINATOR_KEYS
from gralha.metadata.broker_log_configs import LOG_KEYS
from gralha.metadata.config_notation import read_keys
from gralha.metadata.config_types import ConfigKey

_NODE: Final = """
process.roles: list required; at least one of broker, controller; high
    What this process is: 'broker', 'controller', or 'broker,controller' for both in one.
node.id: int required; at least 0; high
    This node's number; no other node of the cluster, broker or controller, may have it.
broker.id: int = -1; high
    The old name of node.id; if given, it must be the same.
broker.rack: string
    The rack or zone this broker stands in, such as 'us-east-1a'. Replicas are spread over racks, and
    consumers may read from their own.
listeners: list = PLAINTEXT://:9092; distinct, not empty; high
    The addresses to listen on, each NAME://host:port. An empty host means all interfaces, port 0 any free
    port. A name that is not a security protocol needs an entry in listener.security.protocol.map.
advertised.listeners: list; distinct, not empty; high
    The addresses that clients and other brokers are told, where they differ from listeners (behind NAT, in
    containers). Each must name a host; 0.0.0.0 is no address to connect to.
listener.security.protocol.map: string =
  SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT; low; per-broker
    Which security protocol each listener name speaks, as NAME:PROTOCOL pairs separated by commas.
controller.listener.names: list required; distinct, not empty; high
    The names of the listeners on which controllers talk; the first is used to reach them. Brokers without
    the controller role need the name too, but must not list it under listeners.
inter.broker.listener.name: string
    The name of the listener that brokers use among themselves; without it, the one whose protocol is
    security.inter.broker.protocol.
security.inter.broker.protocol: string = PLAINTEXT; one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
    The security protocol between brokers when inter.broker.listener.name does not say it.
early.start.listeners: list; high
    Listeners that open before authorization is ready; by default those of the controllers.
"""

_QUORUM: Final = """
controller.quorum.voters: list =; distinct; high
    The controllers that vote, as id@host:port separated by commas, when the set is fixed by this file.
controller.quorum.bootstrap.servers: list =; distinct; high
    Addresses at which to find the controllers when the voters are recorded in the metadata log itself
    (KIP-853).
controller.quorum.auto.join.enable: boolean = false; low
    Should a controller that is not a voter yet ask to become one by itself?
controller.quorum.election.timeout.ms: int = 1000; at least 0; high
    How long a candidate gathers votes before it tries again.
controller.quorum.election.backoff.max.ms: int = 1000; at least 0; high
    The longest random pause after an election without a winner.
controller.quorum.fetch.timeout.ms: int = 2000; at least 0; high
    A voter that has not reached the leader for this long calls an election; a leader that a majority has
    not fetched from for half as long again steps down.
controller.quorum.fetch.max.bytes: int = 1048576; at least 1; low
    How many bytes of the metadata log one fetch of a follower asks for.
controller.quorum.fetch.snapshot.max.bytes: int = 1048576; at least 1; low
    How many bytes of a snapshot one request of a follower asks for.
controller.quorum.append.linger.ms: int = 25; at least 0
    How long the leader may hold metadata records to write several at once. Gralha writes while the disk is
    free and gathers while it is busy, so it never waits.
controller.quorum.request.timeout.ms: int = 2000; at least 0
    How long a voter waits for another's answer.
controller.quorum.retry.backoff.ms: int = 20; at least 0; low
    The pause before a failed request to another voter is repeated.
metadata.log.dir: string; high
    The folder of the metadata log; without it, the first of log.dirs.
metadata.log.segment.bytes: int = 1073741824; at least 8388608; high
    The size at which a segment of the metadata log is closed.
metadata.log.segment.ms: long = 604800000; high
    The age at which a segment of the metadata log is closed.
metadata.log.max.record.bytes.between.snapshots: long = 20971520; at least 1; high
    A new snapshot of the metadata is written after about this many bytes of new records.
metadata.log.max.snapshot.interval.ms: long = 3600000; at least 0; high
    A new snapshot of the metadata is written at least this often while records arrive; 0 turns the clock
    off.
metadata.max.idle.interval.ms: int = 500; at least 0; low
    The active controller writes an empty record after this much silence, so that the high watermark of the
    metadata log shows that it lives; 0 means never.
metadata.max.retention.bytes: long = 104857600; high
    How many bytes of metadata log and snapshots are kept beyond the newest snapshot.
metadata.max.retention.ms: long = 604800000; high
    How long metadata log and snapshots are kept beyond the newest snapshot.
initial.broker.registration.timeout.ms: int = 60000
    A starting broker that the controller has not accepted within this time gives up.
broker.heartbeat.interval.ms: int = 2000
    How often a broker tells the controller that it lives.
broker.session.timeout.ms: int = 9000
    A broker that has been silent for this long is fenced: others take over its partitions.
controlled.shutdown.enable: boolean = true
    Hand leadership to other brokers before stopping.
leader.imbalance.check.interval.seconds: long = 300; at least 1; high
    How often the controller looks for partitions that are not led by their preferred replica.
auto.leader.rebalance.enable: boolean = true; high
    Should the controller give leadership back to preferred replicas by itself?
unclean.leader.election.interval.ms: long = 300000; at least 1; internal
    How often the controller looks for partitions without a leader whose topic allows unclean elections.
"""

_SOCKETS: Final = """
socket.request.max.bytes: int = 104857600; at least 1; high
    The largest request a client may send; a larger one closes its connection.
socket.send.buffer.bytes: int = 102400; high
    SO_SNDBUF of client connections; -1 leaves it to the operating system.
socket.receive.buffer.bytes: int = 102400; high
    SO_RCVBUF of client connections; -1 leaves it to the operating system.
socket.listen.backlog.size: int = 50; at least 1
    How many connections may wait to be accepted on each listener.
socket.connection.setup.timeout.ms: long = 10000
    How long a connection to another node may take to open at first.
socket.connection.setup.timeout.max.ms: long = 30000
    How long it may take after repeated failures, each of which doubles the time.
connections.max.idle.ms: long = 600000
    A connection without a request for this long is closed.
max.connections: int = 10000; at least 0; cluster-wide
    How many connections the broker keeps at once. Apache Kafka sets no limit by default; we do, so that a
    client gone wild cannot use up the file descriptors.
max.connections.per.ip: int = 5000; at least 0; cluster-wide
    How many connections one client address may hold. Apache Kafka sets no limit by default.
max.connections.per.ip.overrides: string =; cluster-wide
    Accepted for Kafka's sake, without effect yet: other limits for given addresses, as host:count.
max.connection.creation.rate: int = max; at least 0; cluster-wide
    Accepted for Kafka's sake, without effect yet: how many new connections per second are let in.
connection.failed.authentication.delay.ms: int = 100; at least 0; low
    The pause before a connection that failed to authenticate is closed.
request.timeout.ms: int = 30000; high
    How long this node waits for the answer to a request it sent.
fetch.max.bytes: int = 57671680; at least 1024
    The most bytes one fetch answers with; a single larger batch is still sent whole.
max.incremental.fetch.session.cache.slots: int = 1000; at least 0
    How many incremental fetch sessions (KIP-227) the broker remembers.
max.request.partition.size.limit: int = 2000; at least 1
    The most partitions one DescribeTopicPartitions answer holds.
queued.max.requests: int = 500; at least 1; high
    How many requests may be inside the broker before it stops reading from connections.
queued.max.request.bytes: long = -1
    How many bytes of requests may be inside the broker before it stops reading; -1 sets no limit.
"""

_TOPIC_POLICY: Final = """
num.partitions: int = 1; at least 1
    How many partitions a topic gets when its creator does not say.
default.replication.factor: int = 1
    How many replicas a topic gets when its creator does not say.
auto.create.topics.enable: boolean = true; high
    Is a topic made when a client asks for one that does not exist?
delete.topic.enable: boolean = true; high
    May topics be deleted at all?
min.insync.replicas: int = 1; at least 1; high; cluster-wide
    The default of the topic config of the same name: how many replicas must be in sync for a write with
    acks=all.
unclean.leader.election.enable: boolean = false; high; cluster-wide
    The default of the topic config of the same name: may a replica that is not in sync become leader?
"""

_WITHOUT_EFFECT: Final = """
num.network.threads: int = 3; at least 1; high; cluster-wide
    Accepted for Kafka's sake, without effect: one event loop serves all connections.
num.io.threads: int = 8; at least 1; high; cluster-wide
    Accepted for Kafka's sake, without effect: one event loop handles all requests.
background.threads: int = 10; at least 1; high; cluster-wide
    Accepted for Kafka's sake, without effect: background work runs on the event loop and a small pool of
    threads.
num.replica.fetchers: int = 1; at least 1; high; cluster-wide
    How many connections fetch from each leader.
num.replica.alter.log.dirs.threads: int; high
    Accepted for Kafka's sake, without effect: Kafka's threads for moving replicas between folders.
num.recovery.threads.per.data.dir: int = 2; at least 1; high; cluster-wide
    How many threads check and flush the logs of one folder at start and stop.
fetch.purgatory.purge.interval.requests: int = 1000
    Accepted for Kafka's sake, without effect: waiting fetches are kept differently.
producer.purgatory.purge.interval.requests: int = 1000
    Accepted for Kafka's sake, without effect: waiting writes are kept differently.
delete.records.purgatory.purge.interval.requests: int = 1
    Accepted for Kafka's sake, without effect: waiting deletions are kept differently.
metric.reporters: list =; low; cluster-wide
    Accepted for Kafka's sake, without effect: it names Java classes.
metrics.num.samples: int = 2; at least 1; low
    Accepted for Kafka's sake, without effect: metrics are kept differently.
metrics.sample.window.ms: long = 30000; at least 1; low
    Accepted for Kafka's sake, without effect: metrics are kept differently.
metrics.recording.level: string = INFO; low
    Accepted for Kafka's sake, without effect: metrics are kept differently.
create.topic.policy.class.name: class; low
    Accepted for Kafka's sake, without effect: a config never names code to load.
alter.config.policy.class.name: class; low
    Accepted for Kafka's sake, without effect: a config never names code to load.
"""

BROKER_CONFIGS: Final[dict[str, ConfigKey]] = read_keys(
    _NODE + _QUORUM + _SOCKETS + _TOPIC_POLICY + _WITHOUT_EFFECT + LOG_KEYS + COORDINATOR_KEYS
)
