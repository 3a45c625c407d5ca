/* The load of the benchmark: prebuilt Kafka requests on raw sockets, with very little CPU time.
 *
 * Each connection sends copies of one frame and keeps a number of them in flight. All frames that
 * the window allows leave in one send. The load checks only that a response is the expected one and
 * has no error. One thread serves all connections, because the broker under test needs the other
 * core. Prints one line of JSON.
 *
 * Compiled with -DTLS, it speaks TLS 1.3 with AES-256-GCM and one X25519 key exchange for each connection.
 *
 * Usage: load PORTS IN_FLIGHT REQUESTS ERROR_AT OFFSET_AT OFFSET_STEP OFFSET_LIMIT
 *             SEQUENCE_AT SEQUENCE_STEP RECORDS_AT BATCH_BYTES FRAME_FILE...
 *   PORTS          separated by commas, for example 1,2,3 for three brokers; the connections use them in turn
 *   REQUESTS       the total of all connections; there is one connection for each FRAME_FILE
 *   ERROR_AT       the position of the partition's error code in a response, from its correlation id on
 *   OFFSET_AT      the position of the fetch offset in a frame, or -1. The offset advances by OFFSET_STEP with
 *                  every request and starts again from 0 before it reaches OFFSET_LIMIT
 *   SEQUENCE_AT    the position of the batch's base sequence in a frame, or -1. The sequence begins at 0 and
 *                  advances by SEQUENCE_STEP with every request, as for an idempotent producer
 *   RECORDS_AT     the position of the records' length in a response, or -1. With it each connection reads the
 *                  log as a consumer does, from offset 0 to OFFSET_LIMIT, and fetches the next records. Every
 *                  batch of the log has BATCH_BYTES and OFFSET_STEP records. The first batch of a response must
 *                  have the requested offset. REQUESTS is ignored then.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

enum {
    MAX_CONNECTIONS = 64,
    HEAD_SIZE = 1024,
    RECEIVE_SIZE = 1 << 20,
    TLS_READ_SIZE = 256 << 10,
    SIZE_PREFIX = 4,
    CORRELATION_AT = 8, /* after the size, the API key and the version */
    LENGTH_IN_BATCH = 8, /* of what follows the length */
    SEQUENCE_IN_BATCH = 53,
    CRC_IN_BATCH = 17,
    CHECKED_IN_BATCH = 21, /* the CRC covers the batch from here on */
    LENGTH_MAX = 5,        /* bytes of the length of records */
    STALL_MS = 30000,
    FIRST_FRAME = 12, /* among the arguments */
};

typedef struct {
    int socket;
#ifdef TLS
    SSL *tls;
#endif
    char *ring; /* IN_FLIGHT copies of the frame, one behind the other */
    size_t frame_size;
    uint64_t quota, begun, sent, answered; /* requests */
    size_t sent_in_frame;
    int64_t *begun_at_ns; /* by slot of the ring */
    unsigned char head[HEAD_SIZE];
    size_t head_filled;
    size_t skip; /* bytes of the current response that nobody looks at */
    int wants_write;
    int64_t offset; /* of a consumer */
    uint32_t crc_without_sequence, crc_of_bit[32];
} connection;

static int in_flight, epoll_descriptor, followers_done;
static size_t error_at, head_size;
static long offset_at, offset_step, offset_limit, sequence_at, sequence_step, records_at, batch_bytes;
static uint64_t received_bytes, answered_total;
static uint32_t *latencies_ns;
static char receive_buffer[RECEIVE_SIZE];

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void put_int64(char *to, int64_t value) {
    for (int byte = 7; byte >= 0; byte--, value >>= 8) to[byte] = (char)value;
}

static void put_int32(char *to, uint32_t value) {
    value = htonl(value);
    memcpy(to, &value, 4);
}

static uint32_t get_int32(const unsigned char *from) {
    uint32_t value;
    memcpy(&value, from, 4);
    return ntohl(value);
}

static int64_t get_int64(const unsigned char *from) {
    return (int64_t)((uint64_t)get_int32(from) << 32 | get_int32(from + 4));
}

static uint32_t crc32c(const unsigned char *data, size_t size) {
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t byte = 0; byte < 256; byte++) {
            table[byte] = byte;
            for (int bit = 0; bit < 8; bit++) table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? 0x82f63b78 : 0);
        }
    uint32_t crc = ~0u;
    while (size--) crc = crc >> 8 ^ table[(crc ^ *data++) & 255];
    return ~crc;
}

/* A bit of the sequence always changes the same bits of the CRC, whatever the rest of the batch is. So a
 * new sequence costs a few operations and not a walk over the batch. */
static void prepare_sequence(connection *c) {
    char *batch = c->ring + sequence_at - SEQUENCE_IN_BATCH, *sequence = c->ring + sequence_at;
    const unsigned char *checked = (unsigned char *)batch + CHECKED_IN_BATCH;
    size_t size = get_int32((unsigned char *)batch + LENGTH_IN_BATCH) + LENGTH_IN_BATCH + 4 - CHECKED_IN_BATCH;
    put_int32(sequence, 0);
    c->crc_without_sequence = crc32c(checked, size);
    for (int bit = 0; bit < 32; bit++) {
        put_int32(sequence, 1u << bit);
        c->crc_of_bit[bit] = crc32c(checked, size) ^ c->crc_without_sequence;
    }
}

static void put_sequence(connection *c, char *frame, uint32_t sequence) {
    uint32_t crc = c->crc_without_sequence;
    for (int bit = 0; bit < 32; bit++)
        if (sequence >> bit & 1) crc ^= c->crc_of_bit[bit];
    put_int32(frame + sequence_at, sequence);
    put_int32(frame + sequence_at - SEQUENCE_IN_BATCH + CRC_IN_BATCH, crc);
}

static void read_frame(connection *c, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    c->frame_size = (size_t)ftell(file);
    rewind(file);
    c->ring = malloc(c->frame_size * in_flight);
    c->begun_at_ns = calloc(in_flight, sizeof(int64_t));
    if (fread(c->ring, 1, c->frame_size, file) != c->frame_size) fail("cannot read %s", path);
    if (sequence_at >= 0) prepare_sequence(c);
    for (int slot = 1; slot < in_flight; slot++)
        memcpy(c->ring + slot * c->frame_size, c->ring, c->frame_size);
    fclose(file);
}

#ifdef TLS
/* TLS on a socket that still blocks. Several records are read at once, and a record is written at a time. */
static void begin_tls(connection *c) {
    static SSL_CTX *context;
    if (!context) {
        context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
        if (!SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384")) fail("no AES-256-GCM");
        SSL_CTX_set1_groups_list(context, "X25519");
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_read_ahead(context, 1);
        SSL_CTX_set_default_read_buffer_len(context, TLS_READ_SIZE);
    }
    c->tls = SSL_new(context);
    SSL_set_fd(c->tls, c->socket);
    if (SSL_connect(c->tls) != 1) fail("handshake: %s", ERR_reason_error_string(ERR_get_error()));
}

/* The result of a call of OpenSSL, as that of the call on a socket. */
static ssize_t of_tls(connection *c, int result) {
    if (result > 0) return result;
    int reason = SSL_get_error(c->tls, result);
    ERR_clear_error();
    if (reason == SSL_ERROR_ZERO_RETURN) return 0;
    if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) errno = EAGAIN;
    return -1;
}

static int as_int(size_t size) {
    return size > INT32_MAX ? INT32_MAX : (int)size;
}

static ssize_t send_some(connection *c, const char *data, size_t size) {
    return of_tls(c, SSL_write(c->tls, data, as_int(size)));
}

static ssize_t receive_some(connection *c) {
    return of_tls(c, SSL_read(c->tls, receive_buffer, sizeof receive_buffer));
}
#else
static void begin_tls(connection *c) {
    (void)c;
}

static ssize_t send_some(connection *c, const char *data, size_t size) {
    return send(c->socket, data, size, MSG_NOSIGNAL);
}

static ssize_t receive_some(connection *c) {
    return recv(c->socket, receive_buffer, sizeof receive_buffer, 0);
}
#endif

static void open_connection(connection *c, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1;
    c->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->socket, (struct sockaddr *)&address, sizeof address)) fail("cannot connect to port %d", port);
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    begin_tls(c);
    fcntl(c->socket, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(epoll_descriptor, EPOLL_CTL_ADD, c->socket, &event);
}

static void want_write(connection *c, int wanted) {
    if (c->wants_write == wanted) return;
    c->wants_write = wanted;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(epoll_descriptor, EPOLL_CTL_MOD, c->socket, &event);
}

/* Stamp the frames that the window allows from now on. */
static void begin_frames(connection *c) {
    int64_t now = 0;
    while (c->begun < c->quota && c->begun - c->answered < (uint64_t)in_flight) {
        size_t slot = c->begun % in_flight;
        char *frame = c->ring + slot * c->frame_size;
        put_int32(frame + CORRELATION_AT, (uint32_t)c->begun);
        if (records_at >= 0)
            put_int64(frame + offset_at, c->offset);
        else if (offset_at >= 0)
            put_int64(frame + offset_at, (int64_t)c->begun * offset_step % offset_limit);
        if (sequence_at >= 0) put_sequence(c, frame, (uint32_t)(c->begun * sequence_step) & 0x7fffffff);
        if (!now) now = now_ns();
        c->begun_at_ns[slot] = now;
        c->begun++;
    }
}

static void send_frames(connection *c) {
    begin_frames(c);
    while (c->sent < c->begun) {
        size_t slot = c->sent % in_flight;
        size_t frames = c->begun - c->sent;
        if (frames > in_flight - slot) frames = in_flight - slot; /* up to the end of the ring */
        char *from = c->ring + slot * c->frame_size + c->sent_in_frame;
        ssize_t count = send_some(c, from, frames * c->frame_size - c->sent_in_frame);
        if (count < 0) {
            if (errno != EAGAIN) fail("send: %s", strerror(errno));
            want_write(c, 1);
            return;
        }
        size_t progress = c->sent_in_frame + (size_t)count;
        c->sent += progress / c->frame_size;
        c->sent_in_frame = progress % c->frame_size;
    }
    want_write(c, 0);
}

/* A consumer goes on behind the last whole batch of a response. */
static void follow(connection *c) {
    const unsigned char *at = c->head + SIZE_PREFIX + records_at;
    uint32_t length = 0;
    for (int shift = 0;; shift += 7) {
        length |= (uint32_t)(*at & 127) << shift;
        if (!(*at++ & 128)) break;
    }
    if (length <= 1) return; /* null or empty: nothing came in time */
    if (get_int64(at) != c->offset) fail("offset %lld came in place of %lld", get_int64(at), c->offset);
    c->offset += (int64_t)((length - 1) / batch_bytes) * offset_step;
    if (c->offset >= offset_limit) {
        c->quota = c->begun;
        followers_done++;
    }
}

/* A response has wholly arrived; its head is kept until then. */
static void check_response(connection *c, int64_t now) {
    uint32_t correlation_id = get_int32(c->head + SIZE_PREFIX);
    if (correlation_id != (uint32_t)c->answered)
        fail("response %u came in place of %u", correlation_id, (uint32_t)c->answered);
    const unsigned char *code = c->head + SIZE_PREFIX + error_at;
    int16_t error = (int16_t)(code[0] << 8 | code[1]);
    if (error) fail("response %u has error code %d", correlation_id, error);
    if (records_at >= 0)
        follow(c);
    else
        latencies_ns[answered_total] = (uint32_t)(now - c->begun_at_ns[c->answered % in_flight]);
    answered_total++;
    c->answered++;
}

static void take(connection *c, const char *data, size_t size, int64_t now) {
    while (size) {
        if (c->skip) {
            size_t count = size < c->skip ? size : c->skip;
            c->skip -= count;
            data += count;
            size -= count;
            if (!c->skip) check_response(c, now);
            continue;
        }
        size_t wanted = SIZE_PREFIX, whole = SIZE_PREFIX;
        if (c->head_filled >= SIZE_PREFIX) {
            whole = SIZE_PREFIX + get_int32(c->head);
            wanted = whole < head_size ? whole : head_size;
        }
        size_t count = wanted - c->head_filled;
        if (count > size) count = size;
        memcpy(c->head + c->head_filled, data, count);
        c->head_filled += count;
        data += count;
        size -= count;
        if (c->head_filled == wanted && wanted > SIZE_PREFIX) {
            if (whole < SIZE_PREFIX + error_at + 2) fail("response of %zu bytes is too short", whole);
            c->skip = whole - wanted;
            c->head_filled = 0;
            if (!c->skip) check_response(c, now);
        }
    }
}

/* Returns whether there may be more: the socket does not tell of bytes that OpenSSL has already. */
static int receive_responses(connection *c) {
    ssize_t count = receive_some(c);
    if (count == 0) fail("the broker closed a connection after %llu responses", (unsigned long long)c->answered);
    if (count < 0) {
        if (errno == EAGAIN) return 0;
        fail("receive: %s", strerror(errno));
    }
    received_bytes += (uint64_t)count;
    take(c, receive_buffer, (size_t)count, now_ns());
#ifdef TLS
    return 1;
#else
    return 0;
#endif
}

static int compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static void report(uint64_t requests, double seconds) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
               + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    double p50 = 0, p99 = 0;
    if (records_at < 0) {
        qsort(latencies_ns, requests, sizeof(uint32_t), compare);
        p50 = latencies_ns[requests / 2] / 1e6;
        p99 = latencies_ns[requests * 99 / 100] / 1e6;
    }
    printf("{\"requests\": %llu, \"seconds\": %.6f, \"received_bytes\": %llu, \"p50_ms\": %.4f, \"p99_ms\": %.4f, "
           "\"cpu_seconds\": %.3f}\n",
           (unsigned long long)requests, seconds, (unsigned long long)received_bytes, p50, p99, cpu);
}

int main(int count, char **words) {
    static connection connections[MAX_CONNECTIONS];
    int used = count - FIRST_FRAME;
    if (used < 1 || used > MAX_CONNECTIONS) fail("wrong arguments; see the top of load.c");
    const char *ports = words[1];
    in_flight = atoi(words[2]);
    uint64_t requests = strtoull(words[3], NULL, 10);
    error_at = strtoul(words[4], NULL, 10);
    offset_at = atol(words[5]);
    offset_step = atol(words[6]);
    offset_limit = atol(words[7]);
    sequence_at = atol(words[8]);
    sequence_step = atol(words[9]);
    records_at = atol(words[10]);
    batch_bytes = atol(words[11]);
    head_size = SIZE_PREFIX + (records_at < 0 ? error_at + 2 : (size_t)records_at + LENGTH_MAX + 8);
    if (head_size > HEAD_SIZE) fail("the error code is too far in");
    signal(SIGPIPE, SIG_IGN);
    latencies_ns = malloc(requests * sizeof(uint32_t) + 1);
    epoll_descriptor = epoll_create1(0);
    for (int i = 0; i < used; i++) {
        read_frame(&connections[i], words[FIRST_FRAME + i]);
        connections[i].quota = requests / used + ((uint64_t)i < requests % used);
        if (records_at >= 0) connections[i].quota = UINT64_MAX;
        char *rest;
        open_connection(&connections[i], (int)strtol(ports, &rest, 10));
        ports = *rest == ',' ? rest + 1 : words[1];
    }
    int64_t start = now_ns();
    for (int i = 0; i < used; i++) send_frames(&connections[i]);
    while (records_at < 0 ? answered_total < requests : followers_done < used) {
        struct epoll_event events[MAX_CONNECTIONS];
        int ready = epoll_wait(epoll_descriptor, events, MAX_CONNECTIONS, STALL_MS);
        if (ready == 0) fail("nothing came for %d s", STALL_MS / 1000);
        for (int i = 0; i < ready; i++) {
            connection *c = events[i].data.ptr;
            if (events[i].events & ~EPOLLOUT)
                while (receive_responses(c)) {
                }
            send_frames(c);
        }
    }
    report(answered_total, (now_ns() - start) / 1e9);
    return 0;
}
