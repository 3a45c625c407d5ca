"""The parts that all coordinators share. A coordinator keeps its state in an internal topic.

    coordinator.py   finds the partition of a key (a group id); has a runtime for each partition that it leads
    runtime.py       one partition: decide, append, replay, answer when committed; timers; loading
    decision.py      the result of a request or a timer: an answer, and the records that make it last
    shard.py         what the state machines have to offer
    appending.py     writes records; here, and nowhere else, errors of the log become answers
    answers.py       holds answers until the high watermark has passed their records, in the same leader epoch
    loading.py       reads a partition back
    timers.py        deadlines

Transactions fit in at three places. The transaction coordinator is a shard of its own, with a codec for the
records of `__transaction_state`. Records of a decision with a producer are a transactional batch, for example
the offsets of a TxnOffsetCommit. WriteTxnMarkers ends a transaction with a control batch
(`Coordinator.write_marker`). A shard replays both with the producer, live and when it is loaded.
"""
