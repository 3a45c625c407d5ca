import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Consumers as members of groups, each polling in a thread of its own, as tests/clients/groups.py asks. */
final class Members {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration POLL = Duration.ofMillis(50);
    private static final int MAX_WAIT_MS = 100;
    private static final int HEARTBEAT_INTERVAL_MS = 100;
    private static final int METADATA_MAX_AGE_MS = 500;
    private static final int TIMEOUT_S = 15;
    private static final Map<String, String> CLASSIC_ASSIGNORS = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
    // The consumer protocol has assignors of its own, at the broker; all of them hand over cooperatively.
    private static final Map<String, String> REMOTE_ASSIGNORS =
        Map.of("range", "range", "cooperative-sticky", "uniform");

    private final Map<String, Object> connection;
    private final Admin admin;
    private final Map<String, Member> members = new HashMap<>();

    Members(Map<String, Object> connection, Admin admin) {
        this.connection = connection;
        this.admin = admin;
    }

    JsonNode answer(JsonNode request) throws Exception {
        String group = request.path("group").asText();
        String name = request.path("member").asText();
        switch (request.get("call").asText()) {
            case "join":
                members.put(name, new Member(request));
                return JSON.nullNode();
            case "commit_outside":
                admin.alterConsumerGroupOffsets(group, offsets(request.get("offsets"))).all().get();
                return JSON.nullNode();
            case "committed":
                return committed(group, request.get("partitions"));
            default:
                return members.get(name).answer(request);
        }
    }

    private JsonNode committed(String group, JsonNode pairs) throws Exception {
        List<TopicPartition> wanted = new ArrayList<>();
        pairs.forEach(pair -> wanted.add(new TopicPartition(pair.get(0).asText(), pair.get(1).asInt())));
        var spec = new ListConsumerGroupOffsetsSpec().topicPartitions(wanted);
        var found = admin.listConsumerGroupOffsets(Map.of(group, spec)).partitionsToOffsetAndMetadata(group).get();
        ArrayNode offsets = JSON.createArrayNode();
        for (TopicPartition partition : wanted) {
            OffsetAndMetadata offset = found.get(partition);
            offsets.add(offset == null ? null : offset.offset());
        }
        return offsets;
    }

    /** What a producer has to know of a member that commits through its transaction. */
    ConsumerGroupMetadata groupMetadata(String name) throws Exception {
        var found = new CompletableFuture<ConsumerGroupMetadata>();
        members.get(name).ask(consumer -> found.complete(consumer.groupMetadata()));
        return found.get();
    }

    static Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode triples) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (JsonNode triple : triples) {
            var partition = new TopicPartition(triple.get(0).asText(), triple.get(1).asInt());
            offsets.put(partition, new OffsetAndMetadata(triple.get(2).asLong()));
        }
        return offsets;
    }

    private static ArrayNode json(Collection<TopicPartition> partitions) {
        ArrayNode pairs = JSON.createArrayNode();
        partitions.forEach(partition -> pairs.addArray().add(partition.topic()).add(partition.partition()));
        return pairs;
    }

    /** One consumer: its thread does what it is asked between two polls and keeps what happened. */
    private final class Member implements ConsumerRebalanceListener {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final ConcurrentLinkedQueue<Runnable> calls = new ConcurrentLinkedQueue<>();
        private final Thread thread = new Thread(this::run);
        private volatile boolean leaving = false;
        private ArrayNode assignment = JSON.createArrayNode();
        private ArrayNode events = JSON.createArrayNode();
        private ArrayNode records = JSON.createArrayNode();
        private String error = null;

        Member(JsonNode request) {
            consumer = new KafkaConsumer<>(config(request), new ByteArrayDeserializer(), new ByteArrayDeserializer());
            subscribe(request);
            thread.setDaemon(true);
            thread.start();
        }

        private Map<String, Object> config(JsonNode request) {
            Map<String, Object> config = new HashMap<>();
            config.putAll(connection);
            config.put("group.id", request.get("group").asText());
            config.put("group.protocol", request.get("protocol").asText());
            config.put("auto.offset.reset", request.get("reset").asText());
            config.put("enable.auto.commit", request.get("auto_commit").asBoolean());
            config.put("fetch.max.wait.ms", MAX_WAIT_MS);
            config.put("metadata.max.age.ms", METADATA_MAX_AGE_MS);
            if (!request.get("instance_id").isNull()) {
                config.put("group.instance.id", request.get("instance_id").asText());
            }
            String assignor = request.get("assignor").asText();
            if (request.get("protocol").asText().equals("consumer")) {
                config.put("group.remote.assignor", REMOTE_ASSIGNORS.get(assignor));
            } else {
                config.put("partition.assignment.strategy", CLASSIC_ASSIGNORS.get(assignor));
                config.put("session.timeout.ms", request.get("session_timeout_ms").asInt());
                config.put("heartbeat.interval.ms", HEARTBEAT_INTERVAL_MS);
            }
            return config;
        }

        private void subscribe(JsonNode request) {
            if (request.get("pattern").isNull()) {
                List<String> topics = new ArrayList<>();
                request.get("topics").forEach(topic -> topics.add(topic.asText()));
                consumer.subscribe(topics, this);
            } else if (request.get("protocol").asText().equals("consumer")) {
                consumer.subscribe(new SubscriptionPattern(request.get("pattern").asText()), this);
            } else {
                consumer.subscribe(Pattern.compile(request.get("pattern").asText()), this);
            }
        }

        private void run() {
            while (!leaving) {
                for (Runnable call = calls.poll(); call != null; call = calls.poll()) {
                    call.run();
                }
                try {
                    polled(consumer.poll(POLL));
                } catch (KafkaException failure) {
                    failed(failure);
                    // A client that cannot go on says so again and again.
                    LockSupport.parkNanos(POLL.toNanos());
                }
            }
            consumer.close();
        }

        private synchronized void polled(Iterable<ConsumerRecord<byte[], byte[]>> polled) {
            for (ConsumerRecord<byte[], byte[]> record : polled) {
                String value = new String(record.value(), StandardCharsets.UTF_8);
                records.addArray().add(record.topic()).add(record.partition()).add(record.offset()).add(value);
            }
            assignment = json(consumer.assignment());
        }

        private synchronized void failed(KafkaException failure) {
            error = error == null ? Driver.kafkaName(failure) : error;
        }

        private synchronized void happened(String event, Collection<TopicPartition> partitions) {
            events.addArray().add(event).add(json(partitions));
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            happened("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            happened("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            happened("lost", partitions);
        }

        JsonNode answer(JsonNode request) throws Exception {
            var where = new TopicPartition(request.path("topic").asText(), request.path("partition").asInt());
            switch (request.get("call").asText()) {
                case "look":
                    return look();
                case "leave":
                    return leave(request.get("wait").asBoolean());
                case "commit":
                    return ask(consumer -> consumer.commitSync(offsets(request.get("offsets"))));
                case "seek":
                    return ask(consumer -> consumer.seek(where, request.get("offset").asLong()));
                case "pause":
                    return ask(consumer -> consumer.pause(List.of(where)));
                case "resume":
                    return ask(consumer -> consumer.resume(List.of(where)));
                default:
                    throw new IllegalArgumentException("no such call: " + request);
            }
        }

        private synchronized JsonNode look() {
            ObjectNode seen = JSON.createObjectNode().put("error", error);
            seen.set("assignment", assignment);
            seen.set("events", events);
            seen.set("records", records);
            events = JSON.createArrayNode();
            records = JSON.createArrayNode();
            return seen;
        }

        private JsonNode leave(boolean wait) throws InterruptedException {
            leaving = true;
            if (wait) {
                thread.join(TimeUnit.SECONDS.toMillis(TIMEOUT_S));
            }
            return JSON.nullNode();
        }

        private JsonNode ask(Consumer<KafkaConsumer<byte[], byte[]>> call) throws Exception {
            var done = new CompletableFuture<Void>();
            calls.add(() -> {
                try {
                    call.accept(consumer);
                    done.complete(null);
                } catch (RuntimeException failure) {
                    done.completeExceptionally(failure);
                }
            });
            done.get(TIMEOUT_S, TimeUnit.SECONDS);
            return JSON.nullNode();
        }
    }
}
