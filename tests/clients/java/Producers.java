import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers with transactions, and readers with an isolation level, as tests/clients/transactions.py asks for
 * them.
 */
final class Producers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MAX_WAIT_MS = 10;
    private static final int TIMEOUT_S = 15;

    private final Map<String, Object> connection;
    private final Members members;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private final Map<String, ConsumerGroupMetadata> metadata = new HashMap<>();

    Producers(Map<String, Object> connection, Members members) {
        this.connection = connection;
        this.members = members;
    }

    /** The answer to a call, or null if the call is not about producers and readers. */
    JsonNode answer(JsonNode request) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producers.get(request.path("producer").asText());
        var where = new TopicPartition(request.path("topic").asText(), request.path("partition").asInt());
        switch (request.get("call").asText()) {
            case "open_producer":
                return open(request);
            case "close_producer":
                producer.close(Duration.ZERO);
                return JSON.nullNode();
            case "begin":
                producer.beginTransaction();
                return JSON.nullNode();
            case "send":
                return send(producer, request.get("records"));
            case "send_offsets":
                producer.sendOffsetsToTransaction(
                    Members.offsets(request.get("offsets")), metadata.get(request.get("metadata").asText()));
                return JSON.nullNode();
            case "commit_transaction":
                producer.commitTransaction();
                return JSON.nullNode();
            case "abort_transaction":
                producer.abortTransaction();
                return JSON.nullNode();
            case "note_metadata":
                metadata.put(
                    request.get("metadata").asText(), members.groupMetadata(request.get("member").asText()));
                return JSON.nullNode();
            case "read":
                return read(where, request);
            case "end_offset":
                return endOffset(where, request.get("level").asText());
            default:
                return null;
        }
    }

    private JsonNode open(JsonNode request) {
        Map<String, Object> config = new HashMap<>();
        config.putAll(connection);
        config.put("linger.ms", 0);
        config.put("max.block.ms", TimeUnit.SECONDS.toMillis(TIMEOUT_S));
        boolean transactional = !request.get("transactional_id").isNull();
        if (transactional) {
            config.put("transactional.id", request.get("transactional_id").asText());
            config.put("transaction.timeout.ms", request.get("timeout_ms").asInt());
        }
        var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        producers.put(request.get("producer").asText(), producer);
        if (transactional) {
            producer.initTransactions();
        }
        return JSON.nullNode();
    }

    private JsonNode send(KafkaProducer<byte[], byte[]> producer, JsonNode records) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode record : records) {
            byte[] value = record.get(2).asText().getBytes(StandardCharsets.UTF_8);
            sent.add(producer.send(
                new ProducerRecord<>(record.get(0).asText(), record.get(1).asInt(), null, value)));
        }
        ArrayNode offsets = JSON.createArrayNode();
        for (Future<RecordMetadata> future : sent) {
            offsets.add(future.get(TIMEOUT_S, TimeUnit.SECONDS).offset());
        }
        return offsets;
    }

    private KafkaConsumer<byte[], byte[]> consumer(String level, int maxPollRecords) {
        Map<String, Object> config = new HashMap<>();
        config.putAll(connection);
        config.put("isolation.level", level);
        config.put("auto.offset.reset", "none");
        config.put("enable.auto.commit", false);
        config.put("fetch.max.wait.ms", MAX_WAIT_MS);
        config.put("max.poll.records", maxPollRecords);
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private JsonNode read(TopicPartition where, JsonNode request) {
        int limit = request.get("limit").isNull() ? Integer.MAX_VALUE : request.get("limit").asInt();
        ArrayNode records = JSON.createArrayNode();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_S);
        try (var consumer = consumer(request.get("level").asText(), limit)) {
            consumer.assign(List.of(where));
            consumer.seek(where, request.get("start").asLong());
            long end = consumer.endOffsets(List.of(where)).get(where);
            while (consumer.position(where) < end && records.size() < limit) {
                if (System.nanoTime() > deadline) {
                    throw new TimeoutException(records.size() + " records came");
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(MAX_WAIT_MS))) {
                    records.addArray().add(record.offset()).add(new String(record.value(), StandardCharsets.UTF_8));
                }
            }
            ObjectNode seen = JSON.createObjectNode().put("position", consumer.position(where));
            var lag = consumer.currentLag(where);
            seen.set("lag", lag.isPresent() ? JSON.getNodeFactory().numberNode(lag.getAsLong()) : JSON.nullNode());
            seen.set("records", records);
            return seen;
        }
    }

    private JsonNode endOffset(TopicPartition where, String level) {
        try (var consumer = consumer(level, 1)) {
            return JSON.valueToTree(consumer.endOffsets(List.of(where)).get(where));
        }
    }
}
