// kafkajs consumers as members of groups, as tests/clients/groups.py asks for them. A consumer runs by
// itself; its events and records are kept until somebody looks.

'use strict'

const HEARTBEAT_INTERVAL_MS = 100
const MAX_WAIT_MS = 100

const pairs = assignment =>
  Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map(partition => [topic, partition]))

class Member {
  constructor(kafka, { group, session_timeout_ms, reset, auto_commit, topics, pattern }, kafkaName) {
    this.seen = { assignment: [], events: [], records: [], error: null }
    this.consumer = kafka.consumer({
      groupId: group,
      sessionTimeout: session_timeout_ms,
      heartbeatInterval: HEARTBEAT_INTERVAL_MS,
      maxWaitTimeInMs: MAX_WAIT_MS,
      metadataMaxAge: 500,
    })
    this.watch(kafkaName)
    const subscription = pattern === null ? topics : [new RegExp(`^${pattern}$`)]
    this.started = this.start(subscription, reset, auto_commit).catch(error => {
      this.seen.error = kafkaName(error)
    })
  }

  watch(kafkaName) {
    const { GROUP_JOIN, REBALANCING, CRASH } = this.consumer.events
    this.consumer.on(GROUP_JOIN, ({ payload }) => {
      this.seen.assignment = pairs(payload.memberAssignment)
      this.seen.events.push(['assigned', this.seen.assignment])
    })
    this.consumer.on(REBALANCING, () => {
      this.seen.events.push(['revoked', this.seen.assignment])
      this.seen.assignment = []
    })
    this.consumer.on(CRASH, ({ payload }) => {
      if (!payload.restart) this.seen.error = kafkaName(payload.error)
    })
  }

  async start(topics, reset, autoCommit) {
    await this.consumer.connect()
    await this.consumer.subscribe({ topics, fromBeginning: reset === 'earliest' })
    await this.consumer.run({
      autoCommit,
      eachMessage: async ({ topic, partition, message }) => {
        this.seen.records.push([topic, partition, Number(message.offset), message.value.toString()])
      },
    })
  }

  look() {
    const seen = { ...this.seen }
    this.seen.events = []
    this.seen.records = []
    return seen
  }

  async leave() {
    await this.started
    await this.consumer.disconnect()
  }
}

// The calls of members for the table of driver.js.
module.exports = (kafka, admin, kafkaName) => {
  const members = new Map()
  return {
    join: async request => {
      members.set(request.member, new Member(kafka, request, kafkaName))
    },
    look: async ({ member }) => members.get(member).look(),
    leave: async ({ member, wait }) => {
      const left = members.get(member).leave()
      if (wait) await left
      else left.catch(() => {})
    },
    commit: ({ member, offsets }) =>
      members
        .get(member)
        .consumer.commitOffsets(
          offsets.map(([topic, partition, offset]) => ({ topic, partition, offset: String(offset) }))
        ),
    seek: async ({ member, topic, partition, offset }) =>
      members.get(member).consumer.seek({ topic, partition, offset: String(offset) }),
    pause: async ({ member, topic, partition }) =>
      members.get(member).consumer.pause([{ topic, partitions: [partition] }]),
    resume: async ({ member, topic, partition }) =>
      members.get(member).consumer.resume([{ topic, partitions: [partition] }]),
    commit_outside: async ({ group, offsets }) => {
      for (const [topic, partition, offset] of offsets) {
        await admin.setOffsets({ groupId: group, topic, partitions: [{ partition, offset: String(offset) }] })
      }
    },
    committed: async ({ group, partitions }) => {
      const topics = await admin.fetchOffsets({ groupId: group, topics: partitions.map(([topic]) => topic) })
      return partitions.map(([topic, number]) => {
        const found = topics.find(each => each.topic === topic).partitions
        const offset = Number(found.find(each => each.partition === number).offset)
        return offset < 0 ? null : offset
      })
    },
  }
}
