import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts the words of a topic by Kafka Streams with exactly_once_v2, until it is killed:
 * WordCount bootstrap application-id input output. Words go through a repartition topic, and counts through a
 * changelog. The state is in memory, so an instance that takes a task over reads the whole changelog.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] arguments) throws IOException {
        var streams = new KafkaStreams(topology(arguments[2], arguments[3]), config(arguments));
        // A test reads the state of an instance in its output.
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
    }

    private static Topology topology(String input, String output) {
        Materialized<String, Long, KeyValueStore<Bytes, byte[]>> counts =
            Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(Serdes.String())
                .withValueSerde(Serdes.Long());
        var builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count(counts)
            .mapValues(count -> Long.toString(count))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    private static Properties config(String[] arguments) throws IOException {
        String bootstrap = arguments[0];
        String applicationId = arguments[1];
        var config = new Properties();
        if (arguments.length > 4) {
            new ObjectMapper().readTree(arguments[4]).get("java").properties()
                .forEach(setting -> config.put(setting.getKey(), setting.getValue().asText()));
        }
        config.putAll(Map.of(
            StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            StreamsConfig.APPLICATION_ID_CONFIG, applicationId,
            StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2,
            StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100,
            StreamsConfig.STATE_DIR_CONFIG, System.getProperty("state.dir"),
            StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1,
            StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0));
        // A killed instance is missed soon.
        config.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 3000);
        config.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 500);
        config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        // What it has left open holds the others back until then, because the next instance has another id.
        config.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 5000);
        // Small polls, so that there are many transactions.
        config.put(StreamsConfig.consumerPrefix("max.poll.records"), 50);
        return config;
    }
}
