"""Nodes of other clusters."""

from gralha.raft.strangers import Strangers


def test_who_asks_cannot_fill_the_log(caplog):
    strangers = Strangers("ours", "/d")
    for number in range(50):
        strangers.refused(None, f"{number}" * 1000)
        strangers.refused(7, f"{number}" * 1000)
    assert len(caplog.records) == 10
    assert max(len(record.getMessage()) for record in caplog.records) < 500


def test_a_few_strangers_are_no_reason_to_give_up():
    strangers = Strangers("ours", "/d")
    assert strangers.majority([]) is None
    strangers.found(1, "theirs")
    assert strangers.majority([1, 2]) is None
    strangers.found(2, None)
    assert strangers.majority([1, 2, 3]) == (
        "2 of 3 controllers belong to another cluster, cluster 'theirs'; this node belongs to cluster ours "
        "(/d/meta.properties)"
    )
    strangers.gone(2)
    assert strangers.majority([1, 2, 3]) is None


def test_servers_without_an_id_are_named_by_their_place(caplog):
    Strangers("ours", "/d").found(-2, "theirs")
    assert "Server 1 of controller.quorum.bootstrap.servers belongs to cluster 'theirs'" in caplog.text
