"""What every coordinator shares. A coordinator keeps its state in the partitions of an internal topic.

coordinator.py   a key (a group id) names a partition; one runtime for each partition that this broker leads
runtime.py       one partition: decide, append, replay, answer when committed; timers; loading
decision.py      the result of a request or a timer: an answer, and the records that make it last
shard.py         what a state machine has to offer
appending.py     writes records; errors of the log become answers here and nowhere else
answers.py       an answer waits for the high watermark, in the leader epoch in which it was given
loading.py       reads the partition back
timers.py        deadlines
"""
