import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's Java client behind JSON lines on standard input and output, as
 * tests/clients/drivers/remote.py speaks them: one request and one answer at a time.
 */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MAX_WAIT_MS = 100;

    private final Map<String, Object> connection;
    private final Admin admin;
    private final Members members;
    private final Producers producers;

    private Driver(Map<String, Object> connection) {
        this.connection = connection;
        this.admin = Admin.create(connection);
        this.members = new Members(connection, admin);
        this.producers = new Producers(connection, members);
    }

    /** The address, and what is needed to log in, if the last argument has it. */
    private static Map<String, Object> connection(String[] arguments) throws IOException {
        Map<String, Object> connection = new HashMap<>(Map.of("bootstrap.servers", arguments[0]));
        if (arguments.length > 1) {
            JSON.readTree(arguments[1]).get("java").properties()
                .forEach(setting -> connection.put(setting.getKey(), setting.getValue().asText()));
        }
        return connection;
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        // Whatever else prints must not get between the answers: the log keeps the stream it finds first.
        System.setOut(System.err);
        Driver driver = new Driver(connection(arguments));
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", driver.answer(JSON.readTree(line)));
            } catch (Exception error) {
                Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
                answer.put("error", kafkaName(cause)).put("message", cause.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
        }
        driver.admin.close(Duration.ZERO);
    }

    static String kafkaName(Throwable error) {
        if (error instanceof OffsetOutOfRangeException) {
            return Errors.OFFSET_OUT_OF_RANGE.name();
        }
        if (error instanceof NoOffsetForPartitionException) {
            return "NO_OFFSET";
        }
        Errors known = Errors.forException(error);
        if (known == Errors.REQUEST_TIMED_OUT) {
            return "TIMEOUT";
        }
        return known == Errors.UNKNOWN_SERVER_ERROR ? error.getClass().getSimpleName() : known.name();
    }

    private JsonNode answer(JsonNode request) throws Exception {
        String topic = request.path("topic").asText();
        TopicPartition where = new TopicPartition(topic, request.path("partition").asInt());
        switch (request.get("call").asText()) {
            case "produce":
                return produce(topic, request);
            case "consume":
                return consume(where, request);
            case "consume_seeking":
                return consumeSeeking(where, request);
            case "offsets":
                return offsets(where);
            case "offset_for_time":
                return offsetForTime(where, request.get("timestamp_ms").asLong());
            case "offset_of_max_timestamp":
                return JSON.valueToTree(
                    admin.listOffsets(Map.of(where, OffsetSpec.maxTimestamp())).partitionResult(where).get().offset());
            case "create_topic":
                return createTopic(topic, request);
            case "delete_topic":
                return done(admin.deleteTopics(List.of(topic)).all());
            case "list_topics":
                return JSON.valueToTree(admin.listTopics().names().get());
            case "partition_leaders":
                return partitionLeaders(topic);
            case "add_partitions":
                NewPartitions total = NewPartitions.increaseTo(request.get("total").asInt());
                return done(admin.createPartitions(Map.of(topic, total)).all());
            case "describe_configs":
                return describeConfigs(new ConfigResource(ConfigResource.Type.TOPIC, topic));
            case "alter_configs":
                return alterConfigs(new ConfigResource(ConfigResource.Type.TOPIC, topic), request.get("configs"));
            case "delete_records":
                RecordsToDelete before = RecordsToDelete.beforeOffset(request.get("before_offset").asLong());
                return done(admin.deleteRecords(Map.of(where, before)).all());
            case "defaults":
                return defaults();
            case "node_ids":
                return JSON.valueToTree(admin.describeCluster().nodes().get().stream().map(Node::id).toList());
            default:
                JsonNode answer = producers.answer(request);
                return answer != null ? answer : members.answer(request);
        }
    }

    /** The settings of consumers and producers that have a default, and null for those without one. */
    private static JsonNode defaults() {
        ObjectNode found = JSON.createObjectNode();
        for (ConfigDef settings : List.of(ConsumerConfig.configDef(), ProducerConfig.configDef())) {
            settings.defaultValues().forEach(
                (name, value) -> found.put(name, value == null ? null : value.toString()));
        }
        return found;
    }

    private static JsonNode done(Future<Void> call) throws Exception {
        call.get();
        return JSON.nullNode();
    }

    private JsonNode produce(String topic, JsonNode request) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.putAll(connection);
        config.put("acks", request.get("acks").asText());
        config.put("compression.type", request.get("compression").asText());
        config.put("enable.idempotence", request.get("idempotent").asBoolean());
        config.put("max.request.size", request.get("limit_bytes").asInt());
        config.put("linger.ms", 20);
        config.put("max.block.ms", 2000);
        Integer partition = request.get("partition").isNull() ? null : request.get("partition").asInt();
        ArrayNode places = JSON.createArrayNode();
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode record : request.get("records")) {
                Long timestamp = record.get("timestamp_ms").isNull() ? null : record.get("timestamp_ms").asLong();
                var outgoing = new ProducerRecord<byte[], byte[]>(
                    topic, partition, timestamp, bytes(record.get("key")), bytes(record.get("value")));
                for (JsonNode header : record.get("headers")) {
                    outgoing.headers().add(header.get(0).asText(), bytes(header.get(1)));
                }
                sent.add(producer.send(outgoing));
            }
            for (Future<RecordMetadata> future : sent) {
                RecordMetadata place = future.get();
                places.addArray().add(place.partition()).add(place.hasOffset() ? place.offset() : -1);
            }
        }
        return places;
    }

    private KafkaConsumer<byte[], byte[]> consumer(String reset) {
        return consumer(reset, MAX_WAIT_MS);
    }

    private KafkaConsumer<byte[], byte[]> consumer(String reset, int maxWaitMs) {
        Map<String, Object> config = new HashMap<>();
        config.putAll(connection);
        config.put("auto.offset.reset", reset);
        config.put("enable.auto.commit", false);
        config.put("fetch.max.wait.ms", maxWaitMs);
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private JsonNode consume(TopicPartition where, JsonNode request) {
        JsonNode offset = request.get("offset");
        int maxWaitMs = request.get("max_wait_ms").asInt();
        try (var consumer = consumer(request.get("reset").asText(), maxWaitMs)) {
            consumer.assign(List.of(where));
            if (offset.isNumber()) {
                consumer.seek(where, offset.asLong());
            } else if (offset.asText().equals("earliest")) {
                consumer.seekToBeginning(List.of(where));
            } else {
                consumer.seekToEnd(List.of(where));
            }
            return read(consumer, request.get("count").asInt(), request.get("timeout_ms").asLong());
        }
    }

    private JsonNode consumeSeeking(TopicPartition where, JsonNode request) {
        ArrayNode rounds = JSON.createArrayNode();
        try (var consumer = consumer("none")) {
            consumer.assign(List.of(where));
            for (JsonNode step : request.get("steps")) {
                consumer.seek(where, step.get(0).asLong());
                rounds.add(read(consumer, step.get(1).asInt(), request.get("timeout_ms").asLong()));
            }
        }
        return rounds;
    }

    private static ArrayNode read(KafkaConsumer<byte[], byte[]> consumer, int count, long timeoutMs) {
        ArrayNode records = JSON.createArrayNode();
        long deadline = System.currentTimeMillis() + timeoutMs;
        while (records.size() < count) {
            if (System.currentTimeMillis() > deadline) {
                throw new org.apache.kafka.common.errors.TimeoutException(
                    records.size() + " of " + count + " records came");
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                // One poll may bring more than was asked for; the next seek sets the position anyway.
                if (records.size() < count) {
                    records.add(json(record));
                }
            }
        }
        return records;
    }

    private JsonNode offsets(TopicPartition where) {
        try (var consumer = consumer("none")) {
            long first = consumer.beginningOffsets(List.of(where)).get(where);
            long end = consumer.endOffsets(List.of(where)).get(where);
            return JSON.createArrayNode().add(first).add(end);
        }
    }

    private JsonNode offsetForTime(TopicPartition where, long timestampMs) {
        try (var consumer = consumer("none")) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(where, timestampMs)).get(where);
            return found == null ? JSON.nullNode() : JSON.valueToTree(found.offset());
        }
    }

    private JsonNode createTopic(String topic, JsonNode request) throws Exception {
        NewTopic created = new NewTopic(
            topic,
            Optional.of(request.get("partitions").asInt()),
            Optional.of((short) request.get("replication_factor").asInt()));
        created.configs(configs(request.get("configs")));
        var options = new CreateTopicsOptions().validateOnly(request.get("validate_only").asBoolean());
        return done(admin.createTopics(List.of(created), options).all());
    }

    private JsonNode partitionLeaders(String topic) throws Exception {
        ArrayNode leaders = JSON.createArrayNode();
        for (TopicPartitionInfo partition :
            admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions()) {
            leaders.addArray().add(partition.partition()).add(partition.leader().id());
        }
        return leaders;
    }

    private JsonNode describeConfigs(ConfigResource resource) throws Exception {
        ObjectNode values = JSON.createObjectNode();
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            values.put(entry.name(), entry.value());
        }
        return values;
    }

    private JsonNode alterConfigs(ConfigResource resource, JsonNode values) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        configs(values).forEach((name, value) ->
            changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        return done(admin.incrementalAlterConfigs(Map.of(resource, changes)).all());
    }

    private static Map<String, String> configs(JsonNode values) {
        Map<String, String> configs = new HashMap<>();
        values.properties().forEach(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        return configs;
    }

    private static byte[] bytes(JsonNode base64) {
        return base64.isNull() ? null : Base64.getDecoder().decode(base64.asText());
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    private static ObjectNode json(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode json = JSON.createObjectNode();
        json.put("partition", record.partition()).put("offset", record.offset());
        json.put("timestamp_ms", record.timestamp());
        json.put("key", base64(record.key())).put("value", base64(record.value()));
        ArrayNode headers = json.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(base64(header.value()));
        }
        return json;
    }
}
