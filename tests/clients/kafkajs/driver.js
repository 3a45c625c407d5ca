// kafkajs behind JSON lines on standard input and output, as tests/clients/drivers/remote.py speaks
// them: one request and one answer at a time.

'use strict'

const fs = require('fs')
const readline = require('readline')
const { Kafka, CompressionCodecs, CompressionTypes, Partitioners, logLevel } = require('kafkajs')
const SnappyCodec = require('kafkajs-snappy')
const lz4 = require('lz4js')
const xxh32 = require('lz4js/xxh32')
const zstd = require('@bokuweb/zstd-wasm')
// kafkajs reads only as a member of a group. Its inner parts fetch without one, with the same encoding.
const Cluster = require('kafkajs/src/cluster')
const socketFactory = require('kafkajs/src/network/socketFactory')
const { createLogger } = require('kafkajs/src/loggers')
const consoleLogger = require('kafkajs/src/loggers/console')
const membersOf = require('./members')
const producersOf = require('./producers')

const TOPIC_RESOURCE = 2
const MAX_WAIT_MS = 100
const bootstrap = process.argv[2].split(',')
const { tls, login } = JSON.parse(process.argv[3] || '{}')
const key = tls ? fs.readFileSync(tls.key, 'utf-8') : null
const ssl = tls ? { ca: [fs.readFileSync(tls.authority, 'utf-8')], cert: key, key } : null
const sasl = login
  ? { mechanism: login.mechanism.toLowerCase(), username: login.user, password: login.password }
  : undefined
const kafka = new Kafka({
  clientId: 'suite',
  brokers: bootstrap,
  ssl,
  sasl,
  logLevel: logLevel.NOTHING,
  retry: { retries: 3 },
})
const admin = kafka.admin()
const cluster = new Cluster({
  logger: createLogger({ level: logLevel.NOTHING, logCreator: consoleLogger }),
  socketFactory: socketFactory(),
  brokers: bootstrap,
  ssl,
  sasl,
  clientId: 'suite',
  connectionTimeout: 1000,
  requestTimeout: 30000,
  metadataMaxAge: 300000,
  allowAutoTopicCreation: false,
  offsets: new Map(),
  isolationLevel: 0,
})

// Kafka refuses frames whose blocks may depend on each other. lz4js does not declare that they do not,
// and a frame of a single block (up to 4 MB) has nothing to depend on.
function lz4Frame(data) {
  const frame = Buffer.from(lz4.compress(data))
  frame[4] |= 0x20
  frame[6] = (xxh32.hash(0, frame, 4, 2) >> 8) & 0xff
  return frame
}

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4Frame(encoder.buffer),
  decompress: async buffer => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
})

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

const bytes = base64 => (base64 === null ? null : Buffer.from(base64, 'base64'))
const base64 = buffer => (buffer === null || buffer === undefined ? null : Buffer.from(buffer).toString('base64'))

// kafkajs keeps headers as an object; a name that repeats has a list of values.
function headersToSend(pairs) {
  const headers = {}
  for (const [name, value] of pairs) {
    if (name in headers) headers[name] = [].concat(headers[name], bytes(value))
    else headers[name] = bytes(value)
  }
  return headers
}

function headersReceived(headers) {
  return Object.entries(headers || {}).flatMap(([name, values]) =>
    [].concat(values).map(value => [name, base64(value)])
  )
}

async function produce({ topic, records, partition, acks, compression, idempotent }) {
  const producer = kafka.producer({
    idempotent,
    maxInFlightRequests: idempotent ? 1 : null,
    createPartitioner: Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  try {
    const answers = await producer.send({
      topic,
      acks: acks === 'all' ? -1 : Number(acks),
      compression: CODECS[compression],
      messages: records.map(record => ({
        key: bytes(record.key),
        value: bytes(record.value),
        headers: headersToSend(record.headers),
        ...(partition === null ? {} : { partition }),
        ...(record.timestamp_ms === null ? {} : { timestamp: String(record.timestamp_ms) }),
      })),
    })
    // One answer for each partition: the offset of its first record.
    return answers.flatMap(answer =>
      records.map((_, number) => [answer.partition, Number(answer.baseOffset) + number])
    )
  } finally {
    await producer.disconnect()
  }
}

async function leaderOf(topic, partition) {
  await cluster.addTargetTopic(topic)
  await cluster.refreshMetadata()
  const found = cluster.findTopicPartitionMetadata(topic).find(each => each.partitionId === partition)
  return cluster.findBroker({ nodeId: String(found.leader) })
}

async function endpoint(topic, partition, latest) {
  const [answer] = await cluster.fetchTopicsOffset([
    { topic, fromBeginning: !latest, partitions: [{ partition }] },
  ])
  return Number(answer.partitions[0].offset)
}

async function read(broker, topic, partition, start, count, timeoutMs, maxWaitMs = MAX_WAIT_MS) {
  const records = []
  const deadline = Date.now() + timeoutMs
  let offset = start
  while (records.length < count) {
    if (Date.now() > deadline) {
      throw Object.assign(new Error(`${records.length} of ${count} records came`), { type: 'TIMEOUT' })
    }
    const { responses } = await broker.fetch({
      maxWaitTime: maxWaitMs,
      isolationLevel: 0,
      topics: [{ topic, partitions: [{ partition, fetchOffset: String(offset), maxBytes: 10485760 }] }],
    })
    for (const message of responses[0].partitions[0].messages) {
      // A batch may begin before the offset that was asked for.
      if (Number(message.offset) < offset || records.length === count) continue
      offset = Number(message.offset) + 1
      records.push({
        partition,
        offset: Number(message.offset),
        timestamp_ms: Number(message.timestamp),
        key: base64(message.key),
        value: base64(message.value),
        headers: headersReceived(message.headers),
      })
    }
  }
  return records
}

async function consume({ topic, partition, offset, count, reset, max_wait_ms, timeout_ms }) {
  const broker = await leaderOf(topic, partition)
  const start = typeof offset === 'number' ? offset : await endpoint(topic, partition, offset === 'latest')
  try {
    return await read(broker, topic, partition, start, count, timeout_ms, max_wait_ms)
  } catch (error) {
    if (error.type !== 'OFFSET_OUT_OF_RANGE' || reset === 'none') throw error
    const again = await endpoint(topic, partition, reset === 'latest')
    return read(broker, topic, partition, again, count, timeout_ms, max_wait_ms)
  }
}

async function consumeSeeking({ topic, partition, steps, timeout_ms }) {
  const broker = await leaderOf(topic, partition)
  const rounds = []
  for (const [offset, count] of steps) {
    rounds.push(await read(broker, topic, partition, offset, count, timeout_ms))
  }
  return rounds
}

async function createTopic({ topic, partitions, configs, replication_factor, validate_only }) {
  const created = await admin.createTopics({
    validateOnly: validate_only,
    waitForLeaders: false,
    topics: [
      {
        topic,
        numPartitions: partitions,
        replicationFactor: replication_factor,
        configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
      },
    ],
  })
  // kafkajs has no error for this, only a different result.
  if (!created) throw Object.assign(new Error(topic), { type: 'TOPIC_ALREADY_EXISTS' })
}

async function describeConfigs({ topic }) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: TOPIC_RESOURCE, name: topic }],
  })
  return Object.fromEntries(resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
}

async function deleteRecords({ topic, partition, before_offset }) {
  // kafkajs looks the leader up in what it happens to know of the topic, so let it know.
  await admin.fetchTopicOffsets(topic)
  await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before_offset) }] })
}

const CALLS = {
  produce,
  consume,
  consume_seeking: consumeSeeking,
  offsets: async ({ topic, partition }) => {
    const found = (await admin.fetchTopicOffsets(topic)).find(each => each.partition === partition)
    return [Number(found.low), Number(found.high)]
  },
  offset_for_time: async ({ topic, partition, timestamp_ms }) => {
    const all = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp_ms)
    return Number(all.find(each => each.partition === partition).offset)
  },
  create_topic: createTopic,
  delete_topic: ({ topic }) => admin.deleteTopics({ topics: [topic] }),
  list_topics: () => admin.listTopics(),
  partition_leaders: async ({ topic }) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics[0].partitions.map(partition => [partition.partitionId, partition.leader])
  },
  add_partitions: ({ topic, total }) =>
    admin.createPartitions({ topicPartitions: [{ topic, count: total }] }),
  describe_configs: describeConfigs,
  alter_configs: ({ topic, configs }) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: TOPIC_RESOURCE,
          name: topic,
          configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
        },
      ],
    }),
  delete_records: deleteRecords,
  node_ids: async () => (await admin.describeCluster()).brokers.map(broker => broker.nodeId),
  ...membersOf(kafka, admin, kafkaName),
  ...producersOf(kafka, cluster, leaderOf),
}

// kafkajs wraps what a broker said in errors of its own, some with a list of causes.
function kafkaName(error) {
  if (error.type) return error.type
  const inner = error.cause || (error.errors || [])[0] || ((error.partitions || [])[0] || {}).error
  return inner ? kafkaName(inner) : error.name
}

async function answer(line) {
  const request = JSON.parse(line)
  try {
    const result = await CALLS[request.call](request)
    return { result: result === undefined ? null : result }
  } catch (error) {
    return { error: kafkaName(error), message: String(error.message) }
  }
}

async function main() {
  await zstd.init()
  await admin.connect()
  await cluster.connect()
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(line)) + '\n')
  }
  await Promise.all([admin.disconnect(), cluster.disconnect()])
  // Members that have not left would go on.
  process.exit(0)
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
