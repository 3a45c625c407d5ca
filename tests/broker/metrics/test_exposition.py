"""The text format: what Prometheus's own parser reads is what was meant."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from gralha.broker.metrics.exposition import (
    SLICE,
    Distribution,
    counter,
    family_text,
    gauge,
    histogram,
    histogram_text,
    labels,
    single,
)

SIZE = gauge("log_size", "Bytes.")


def parsed(text):
    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def test_a_family_has_its_head_once():
    text = "".join(
        family_text(SIZE, [(labels(topic="a", partition=0), 7), (labels(topic="b", partition=1), 8)])
    )
    assert text == (
        "# HELP log_size Bytes.\n"
        "# TYPE log_size gauge\n"
        'log_size{topic="a",partition="0"} 7\n'
        'log_size{topic="b",partition="1"} 8\n'
    )


def test_a_value_without_labels_has_no_braces():
    assert "".join(single(counter("x_total", "X."), 3)).endswith("\nx_total 3\n")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20))
def test_any_text_survives_as_a_label(text):
    # The parser splits lines where Python does. Prometheus splits only at \n.
    if len(text.splitlines()) > 1 or text.endswith(tuple("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")):
        text = text.replace("\n", "")
    exposition = "".join(family_text(SIZE, [(labels(topic=text), 1)]))
    ((_, found, _),) = parsed(exposition)
    assert found == {"topic": text}


def test_help_is_one_line():
    head = gauge("x", "one\ntwo \\ three").head
    assert head == "# HELP x one\\ntwo \\\\ three\n# TYPE x gauge\n"


def test_a_histogram_counts_upwards():
    text = "".join(
        histogram_text(
            histogram("time", "T."), [Distribution(labels(request="Fetch"), (0.5, 1, 10), [1, 0, 2, 4], 9.5)]
        )
    )
    assert parsed(text) == [
        ("time_bucket", {"request": "Fetch", "le": "0.5"}, 1),
        ("time_bucket", {"request": "Fetch", "le": "1"}, 1),
        ("time_bucket", {"request": "Fetch", "le": "10"}, 3),
        ("time_bucket", {"request": "Fetch", "le": "+Inf"}, 7),
        ("time_sum", {"request": "Fetch"}, 9.5),
        ("time_count", {"request": "Fetch"}, 7),
    ]


def test_a_histogram_needs_no_labels():
    text = "".join(histogram_text(histogram("time", "T."), [Distribution("", (1,), [1, 1], 3)]))
    assert 'time_bucket{le="1"} 1\n' in text
    assert "time_count 2\n" in text


def test_a_long_family_comes_in_short_pieces():
    samples = [(labels(n=number), number) for number in range(10 * SLICE + 1)]
    pieces = list(family_text(SIZE, samples))
    assert max(piece.count("\n") for piece in pieces) <= SLICE + 2
    assert len(parsed("".join(pieces))) == len(samples)


def test_work_without_samples_gives_way_as_well():
    pieces = list(family_text(SIZE, [None] * 10 * SLICE))
    assert len(pieces) > 10
    assert "".join(pieces) == SIZE.head
