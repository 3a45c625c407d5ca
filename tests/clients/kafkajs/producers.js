// kafkajs producers with transactions, and readers with an isolation level, as tests/clients/transactions.py
// asks for them.

'use strict'

const { Partitioners } = require('kafkajs')
// kafkajs reads only as a member of a group. Its inner parts fetch without one, and drop what was aborted.
const Batch = require('kafkajs/src/consumer/batch')

const MAX_WAIT_MS = 10
const TIMEOUT_MS = 15000
const ISOLATION_LEVELS = { read_uncommitted: 0, read_committed: 1 }

class Producer {
  constructor(kafka, { transactional_id, timeout_ms }) {
    this.transaction = null
    this.producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
      transactionTimeout: timeout_ms,
      ...(transactional_id === null ? {} : { transactionalId: transactional_id }),
    })
    this.transactional = transactional_id !== null
  }

  async open() {
    await this.producer.connect()
    // Its first transaction gets the producer id. Others do that when they open.
    if (this.transactional) await (await this.producer.transaction()).abort()
  }

  async begin() {
    this.transaction = await this.producer.transaction()
  }

  async send(records) {
    const sender = this.transaction || this.producer
    const offsets = []
    for (const [topic, partition, value] of records) {
      const [answer] = await sender.send({ topic, messages: [{ value, partition }] })
      offsets.push(Number(answer.baseOffset))
    }
    return offsets
  }

  async sendOffsets({ offsets, group }) {
    const topics = offsets.map(([topic, partition, offset]) => ({
      topic,
      partitions: [{ partition, offset: String(offset) }],
    }))
    await this.transaction.sendOffsets({ consumerGroupId: group, topics })
  }

  async end(how) {
    await this.transaction[how]()
    this.transaction = null
  }
}

async function read(broker, { topic, partition, level, start, limit }, end) {
  const records = []
  const deadline = Date.now() + TIMEOUT_MS
  let position = start
  while (position < end && records.length !== limit) {
    if (Date.now() > deadline) {
      throw Object.assign(new Error(`${records.length} records came`), { type: 'TIMEOUT' })
    }
    const { responses } = await broker.fetch({
      maxWaitTime: MAX_WAIT_MS,
      isolationLevel: ISOLATION_LEVELS[level],
      topics: [{ topic, partitions: [{ partition, fetchOffset: String(position), maxBytes: 10485760 }] }],
    })
    const batch = new Batch(topic, String(position), responses[0].partitions[0])
    for (const message of batch.messages) records.push([Number(message.offset), message.value.toString()])
    if (!batch.isEmptyIncludingFiltered()) position = Number(batch.lastOffset()) + 1
  }
  return { records, position, lag: null }
}

// The calls of producers for the table of driver.js.
module.exports = (kafka, cluster, leaderOf) => {
  const producers = new Map()
  const find = ({ producer }) => producers.get(producer)

  // kafkajs asks for the high watermark only: this is the same request with an isolation level.
  async function endOffset({ topic, partition, level }) {
    const broker = await leaderOf(topic, partition)
    const { responses } = await broker.listOffsets({
      isolationLevel: ISOLATION_LEVELS[level],
      topics: [{ topic, partitions: [{ partition, timestamp: -1 }] }],
    })
    return Number(responses[0].partitions[0].offset)
  }

  return {
    open_producer: async request => {
      const producer = new Producer(kafka, request)
      await producer.open()
      producers.set(request.producer, producer)
    },
    close_producer: request => find(request).producer.disconnect(),
    begin: request => find(request).begin(),
    send: request => find(request).send(request.records),
    send_offsets: request => find(request).sendOffsets(request),
    commit_transaction: request => find(request).end('commit'),
    abort_transaction: request => find(request).end('abort'),
    // Its transactions know a group by its name only.
    note_metadata: async () => null,
    read: async request => {
      const broker = await leaderOf(request.topic, request.partition)
      return read(broker, request, await endOffset(request))
    },
    end_offset: endOffset,
  }
}
