"""The largest matching of the parts of two combined schemas: each part fits at most one part of the other."""


def largest_matching(size: int, edges: dict[int, list[int]]) -> dict[int, int]:
    """For parts of the first schema, the part of the second one that each of them is matched with.

    A part that finds no free partner asks the partners' own parts to take another one (an augmenting path).
    """
    partner_of: dict[int, int] = {}
    for start in range(size):
        _augment(start, edges, partner_of)
    return {first: second for second, first in partner_of.items()}


def _augment(start: int, edges: dict[int, list[int]], partner_of: dict[int, int]) -> None:
    reached_from: dict[int, int] = {}
    waiting = [start]
    for first in waiting:
        for second in edges.get(first, ()):
            if second in reached_from:
                continue
            reached_from[second] = first
            if second in partner_of:
                waiting.append(partner_of[second])
                continue
            _take(second, start, reached_from, partner_of)
            return


def _take(second: int, start: int, reached_from: dict[int, int], partner_of: dict[int, int]) -> None:
    while True:
        first = reached_from[second]
        previous = next((other for other, taken in partner_of.items() if taken == first), None)
        partner_of[second] = first
        if first == start or previous is None:
            return
        del partner_of[previous]
        second = previous
