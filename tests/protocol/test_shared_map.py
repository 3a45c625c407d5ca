"""A model: each successor is equal to a dict with the same changes, and stays so."""

from hypothesis import given
from hypothesis import strategies as st

from gralha.protocol.shared_map import SharedMap

# A map to succeed, and the entries to set (a number) or to remove (None).
Change = tuple[int, dict[int, int | None]]
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 100),
        st.dictionaries(st.integers(0, 300), st.none() | st.integers(), max_size=60),
    ),
    max_size=25,
)


@given(CHANGES)
def test_successors_are_equal_to_copied_dicts(changes: list[Change]) -> None:
    maps: list[SharedMap[int, int]] = [SharedMap()]
    dicts: list[dict[int, int]] = [{}]
    for parent, values in changes:
        successor = maps[parent % len(maps)].change()
        expected = dict(dicts[parent % len(dicts)])
        for key, value in values.items():
            assert (key in successor) == (key in expected)
            if value is not None:
                successor[key] = value
                expected[key] = value
            elif key in expected:
                del successor[key]
                del expected[key]
            assert successor.get(key) == expected.get(key)
        assert sorted(successor.values()) == sorted(expected.values())
        maps.append(successor.finish())
        dicts.append(expected)
    for one, expected in zip(maps, dicts, strict=True):
        assert one == expected
        assert len(one) == len(expected)
        assert sorted(one.items()) == sorted(expected.items())
        assert {key: one[key] for key in one} == expected
        for key in range(301):
            assert (key in one, one.get(key, "none")) == (key in expected, expected.get(key, "none"))


def test_the_order_of_entries_depends_on_their_changes_only() -> None:
    change = SharedMap({"b": 1, "a": 2}).change()
    change["c"] = 3
    change["b"] = 4
    assert list(change.finish().items()) == [("b", 4), ("a", 2), ("c", 3)]


def test_a_change_of_a_large_map_copies_little() -> None:
    entries = SharedMap({number: number for number in range(10_000)})
    largest = 0
    copies = 0
    for number in range(1_000):
        change = entries.change()
        change[10_000 + number] = number
        entries, earlier = change.finish(), entries
        copies += entries._base is not earlier._base
        largest = max(largest, len(entries._changes))
    assert copies <= 5  # of a thousand changes
    assert largest <= 250
