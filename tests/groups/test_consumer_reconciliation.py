"""How a member reaches its target: invariants for every member, target and report of owned partitions."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gralha.groups.consumer_member import ConsumerMember, MemberState
from gralha.groups.reconciliation import Target, reconcile

TOPICS = (b"a" * 16, b"b" * 16)
PARTITIONS = st.frozensets(st.tuples(st.sampled_from(TOPICS), st.integers(0, 3)))


def by_topic(partitions):
    topics = {topic_id for topic_id, _ in partitions}
    return {each: frozenset(index for topic_id, index in partitions if topic_id == each) for each in topics}


def holdings(partitions, epoch):
    return {topic_id: dict.fromkeys(each, epoch) for topic_id, each in by_topic(partitions).items()}


def flat(partitions_by_topic):
    return {(topic_id, each) for topic_id, partitions in partitions_by_topic.items() for each in partitions}


@st.composite
def members(draw):
    state = draw(
        st.sampled_from(
            (MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS)
        )
    )
    assigned = draw(PARTITIONS)
    pending: frozenset[tuple[bytes, int]] = frozenset()
    if state is MemberState.UNREVOKED_PARTITIONS:
        pending = draw(PARTITIONS.filter(bool)) - assigned
    return ConsumerMember(
        "m",
        epoch=draw(st.integers(3, 5)),
        state=state,
        assigned=holdings(assigned, 2),
        pending_revocation=holdings(pending, 1),
    )


@st.composite
def steps(draw):
    member = draw(members())
    wanted = draw(PARTITIONS)
    taken = draw(PARTITIONS) - set(member.partitions())
    target = Target(
        epoch=draw(st.integers(member.epoch, 6)),
        assignment=by_topic(wanted),
        subscribed=draw(st.sets(st.sampled_from(TOPICS))),
        is_taken=lambda topic_id, partition: (topic_id, partition) in taken,
    )
    # A member may own less than it has been given: it has not heard of it yet.
    owned = draw(st.none() | st.sets(st.sampled_from(sorted(member.partitions()) or [(TOPICS[0], 9)])))
    return member, target, taken, owned


@given(steps(), st.booleans())
def test_every_step_keeps_to_the_rules(step, subscription_changed):
    member, target, taken, owned = step
    after = reconcile(member, target, None if owned is None else by_topic(owned), subscription_changed)
    had, has = set(member.partitions()), set(after.partitions())
    # What it lets go of it does not own.
    assert not (had - has) & (had if owned is None else owned)
    # It gets only partitions of its target assignment that no other member has.
    got = has - had
    assert got <= flat(target.assignment)
    assert not got & taken
    assert all(topic_id in target.subscribed for topic_id, _ in got)
    # It gets nothing while it has something to give back, and its epoch stays.
    if after.state is MemberState.UNREVOKED_PARTITIONS:
        assert not got
        assert after.epoch == member.epoch
        assert after.pending_revocation or member.state is MemberState.UNREVOKED_PARTITIONS
    else:
        assert not after.pending_revocation
    if after.state is MemberState.UNRELEASED_PARTITIONS:
        assert flat(target.assignment) & taken
    # Each partition knows since when the member has it.
    for topic_id, partitions in after.assigned.items():
        for partition, epoch in partitions.items():
            before = member.assigned.get(topic_id, {}).get(partition)
            assert epoch == (target.epoch if before is None else before)
    assert after == member or after.previous_epoch == member.epoch


@given(steps())
def test_who_does_as_told_gets_there(step):
    member, target, taken, _ = step
    target = replace(target, epoch=member.epoch + 1)
    wanted = {each for each in flat(target.assignment) if each[0] in target.subscribed}
    for _ in range(3):
        member = reconcile(member, target, by_topic(flat(member.assigned)), False)
    assert flat(member.assigned) == wanted - taken
    assert not member.pending_revocation
    assert member.epoch == target.epoch
    assert member.is_reconciled_to(target.epoch) == (not wanted & taken)


def test_what_is_to_be_given_back_may_be_wanted_again():
    member = ConsumerMember(
        "m",
        epoch=3,
        state=MemberState.UNREVOKED_PARTITIONS,
        pending_revocation=holdings({(TOPICS[0], 0)}, 2),
    )
    target = Target(4, by_topic({(TOPICS[0], 0)}), TOPICS, lambda *_: False)
    assert reconcile(member, target, None, False) is member
    assert reconcile(member, target, by_topic({(TOPICS[0], 0)}), False) is member
    after = reconcile(member, target, {}, False)
    assert (after.state, after.assigned) == (MemberState.STABLE, holdings({(TOPICS[0], 0)}, 4))


def test_more_may_have_to_be_given_back_while_a_member_still_revokes():
    member = ConsumerMember(
        "m",
        epoch=3,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned=holdings({(TOPICS[1], 0)}, 3),
        pending_revocation=holdings({(TOPICS[0], 0)}, 2),
    )
    target = Target(4, {}, TOPICS[:1], lambda *_: False)
    after = reconcile(member, target, None, True)
    assert after.pending_revocation == {TOPICS[0]: {0: 2}, TOPICS[1]: {0: 3}}
    assert not after.assigned
