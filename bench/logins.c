/* Connections that log in: TCP, a whole TLS 1.3 handshake, ApiVersions, SaslHandshake and SaslAuthenticate.
 *
 * These are the requests of a Kafka client. No session is resumed. Each thread opens one connection after the
 * other. With HOLD they all stay open until the standard input ends, and a request on each of them has been
 * answered. The salted password of SCRAM is computed once, because its cost is the client's. Prints one line of JSON.
 *
 * Usage: logins PORT MECHANISM USER PASSWORD COUNT THREADS HOLD
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    ARGUMENTS = 8,
    THREADS_MAX = 64,
    ANSWER_MAX = 64 << 10,
    MESSAGE_MAX = 1024,
    KEY_SIZE = 64, /* of SHA-512 */
    API_VERSIONS = 18,
    SASL_HANDSHAKE = 17,
    SASL_AUTHENTICATE = 36,
};

typedef struct {
    int socket;
    SSL *tls;
    unsigned char answer[ANSWER_MAX];
    size_t size; /* of the answer, without its size and its correlation id */
    const unsigned char *body;
} connection;

typedef struct {
    pthread_t thread;
    int count;
} share;

static SSL_CTX *context;
static const char *mechanism, *user, *password;
static int port, holds;
static unsigned char salted[KEY_SIZE];
static pthread_once_t salting = PTHREAD_ONCE_INIT;
static unsigned char salt[MESSAGE_MAX];
static int salt_size, iterations;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "logins: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    exit(1);
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static uint32_t get_int32(const unsigned char *from) {
    uint32_t value;
    memcpy(&value, from, 4);
    return ntohl(value);
}

static unsigned char *put_int32(unsigned char *to, uint32_t value) {
    value = htonl(value);
    memcpy(to, &value, 4);
    return to + 4;
}

static unsigned char *put_int16(unsigned char *to, int value) {
    *to++ = (unsigned char)(value >> 8);
    *to++ = (unsigned char)value;
    return to;
}

static void read_all(connection *c, unsigned char *to, size_t size) {
    while (size) {
        int count = SSL_read(c->tls, to, (int)size);
        if (count <= 0) fail("the broker closed a connection");
        to += count;
        size -= (size_t)count;
    }
}

/* Sends a request with a header of version 1, and reads its answer. */
static void call(connection *c, int api, int version, const void *body, size_t size) {
    static const char client_id[] = "bench";
    unsigned char frame[2 * MESSAGE_MAX], *at = frame + 4;
    at = put_int16(at, api);
    at = put_int16(at, version);
    at = put_int32(at, 1);
    at = put_int16(at, sizeof client_id - 1);
    memcpy(at, client_id, sizeof client_id - 1);
    at += sizeof client_id - 1;
    memcpy(at, body, size);
    at += size;
    put_int32(frame, (uint32_t)(at - frame - 4));
    if (SSL_write(c->tls, frame, (int)(at - frame)) <= 0) fail("the broker closed a connection");
    read_all(c, c->answer, 4);
    c->size = get_int32(c->answer);
    if (c->size < 6 || c->size > ANSWER_MAX) fail("an answer of %zu bytes", c->size);
    read_all(c, c->answer, c->size);
    c->body = c->answer + 4;
    c->size -= 4;
    if (c->body[0] || c->body[1]) fail("API %d: error code %d", api, c->body[0] << 8 | c->body[1]);
}

/* Sends a message of the mechanism. The answer is a string at `answer`. */
static void authenticate(connection *c, const char *message, size_t size, char *answer) {
    unsigned char body[MESSAGE_MAX + 4];
    memcpy(put_int32(body, (uint32_t)size), message, size);
    call(c, SASL_AUTHENTICATE, 1, body, size + 4);
    const unsigned char *at = c->body + 2;
    int length = (int16_t)(at[0] << 8 | at[1]);
    at += 2 + (length > 0 ? length : 0);
    uint32_t answered = get_int32(at);
    if (answered >= MESSAGE_MAX) fail("a message of %u bytes", answered);
    memcpy(answer, at + 4, answered);
    answer[answered] = 0;
}

static void hmac(const unsigned char *key, const void *data, size_t size, unsigned char *to) {
    HMAC(EVP_sha512(), key, KEY_SIZE, data, size, to, NULL);
}

static void salt_password(void) {
    PKCS5_PBKDF2_HMAC(password, -1, salt, salt_size, iterations, EVP_sha512(), KEY_SIZE, salted);
}

static int from_base64(const char *text, size_t size, unsigned char *to) {
    int decoded = EVP_DecodeBlock(to, (const unsigned char *)text, (int)size);
    while (size && text[--size] == '=') decoded--;
    return decoded;
}

static void scram(connection *c) {
    char bare[MESSAGE_MAX], first[MESSAGE_MAX + 4], answer[MESSAGE_MAX], last[MESSAGE_MAX], all[3 * MESSAGE_MAX];
    unsigned char random[18], nonce[32], key[KEY_SIZE], stored[KEY_SIZE], signature[KEY_SIZE], proof[128];
    RAND_bytes(random, sizeof random);
    EVP_EncodeBlock(nonce, random, sizeof random);
    snprintf(bare, sizeof bare, "n=%s,r=%s", user, nonce);
    int size = snprintf(first, sizeof first, "n,,%s", bare);
    authenticate(c, first, (size_t)size, answer);
    char *s = strstr(answer, ",s="), *i = strstr(answer, ",i=");
    if (!s || !i) fail("no salt in %s", answer);
    if (!iterations) {
        /* The same for all connections, because it is one user. */
        salt_size = from_base64(s + 3, (size_t)(i - s - 3), salt);
        iterations = atoi(i + 3);
    }
    pthread_once(&salting, salt_password);
    size = snprintf(last, sizeof last, "c=biws,%.*s", (int)(s - answer), answer);
    int length = snprintf(all, sizeof all, "%s,%s,%s", bare, answer, last);
    hmac(salted, "Client Key", 10, key);
    EVP_Digest(key, KEY_SIZE, stored, NULL, EVP_sha512(), NULL);
    hmac(stored, all, (size_t)length, signature);
    for (int byte = 0; byte < KEY_SIZE; byte++) key[byte] ^= signature[byte];
    EVP_EncodeBlock(proof, key, KEY_SIZE);
    size += snprintf(last + size, sizeof last - size, ",p=%s", proof);
    authenticate(c, last, (size_t)size, answer);
    if (strncmp(answer, "v=", 2)) fail("no signature in %s", answer);
}

static void plain(connection *c) {
    char message[MESSAGE_MAX], answer[MESSAGE_MAX];
    int size = snprintf(message, sizeof message, "%c%s%c%s", 0, user, 0, password);
    authenticate(c, message, (size_t)size, answer);
}

static void log_in(connection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1;
    c->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->socket, (struct sockaddr *)&address, sizeof address)) fail("cannot connect to port %d", port);
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    c->tls = SSL_new(context);
    SSL_set_fd(c->tls, c->socket);
    if (SSL_connect(c->tls) != 1) fail("handshake: %s", ERR_reason_error_string(ERR_get_error()));
    call(c, API_VERSIONS, 0, "", 0);
    unsigned char name[MESSAGE_MAX];
    size_t size = strlen(mechanism);
    memcpy(put_int16(name, (int)size), mechanism, size);
    call(c, SASL_HANDSHAKE, 1, name, size + 2);
    if (strcmp(mechanism, "PLAIN"))
        scram(c);
    else
        plain(c);
}

static void *log_in_all(void *argument) {
    share *own = argument;
    connection *c = malloc(sizeof *c);
    for (int done = 0; done < own->count; done++) {
        log_in(c);
        if (holds) {
            call(c, API_VERSIONS, 0, "", 0);
            continue; /* it stays open until the process ends */
        }
        SSL_shutdown(c->tls);
        SSL_free(c->tls);
        close(c->socket);
    }
    free(c);
    return NULL;
}

int main(int count, char **words) {
    static share shares[THREADS_MAX];
    if (count != ARGUMENTS) fail("wrong arguments; see the top of logins.c");
    port = atoi(words[1]);
    mechanism = words[2];
    user = words[3];
    password = words[4];
    int logins = atoi(words[5]), threads = atoi(words[6]);
    holds = atoi(words[7]);
    if (threads < 1 || threads > THREADS_MAX) fail("too many threads");
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    if (!SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384")) fail("no AES-256-GCM");
    SSL_CTX_set1_groups_list(context, "X25519");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (strcmp(mechanism, "PLAIN")) { /* before the threads, which all need the salted password */
        connection *first = malloc(sizeof *first);
        log_in(first);
        SSL_shutdown(first->tls);
        close(first->socket);
    }
    double start = now_s();
    for (int i = 0; i < threads; i++) {
        shares[i].count = logins / threads + (i < logins % threads);
        pthread_create(&shares[i].thread, NULL, log_in_all, &shares[i]);
    }
    for (int i = 0; i < threads; i++) pthread_join(shares[i].thread, NULL);
    double seconds = now_s() - start;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
               + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("{\"logins\": %d, \"seconds\": %.6f, \"cpu_seconds\": %.3f}\n", logins, seconds, cpu);
    fflush(stdout);
    while (holds && getchar() != EOF) {
    }
    return 0;
}
