"""An immutable map whose successors share most of it, for images of clusters with many topics.

    later = earlier.change()
    later["orders"] = topic
    image = later.finish()

A copied dict costs as much as the dict is large, for each created topic. A `SharedMap` has a large dict,
which successors share, and the changes since that dict was made. A successor copies only the changes. If
they are more than `_few` allows, the successor gets a large dict of its own. So a change of a map with n
entries costs about as much as the square root of n.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from math import isqrt
from typing import Any, Final, Generic, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

# In the changes: the entry was removed.
_REMOVED: Final = object()
_UNCHANGED: Final = object()
_FEWEST: Final = 32


class SharedMap(Mapping[K, V]):
    """Looks like a dict that nobody changes. The order of entries is the same in each run of a program."""

    __slots__ = ("_base", "_changes", "_size")

    def __init__(
        self, base: dict[K, V] | None = None, changes: dict[K, Any] | None = None, size: int = -1
    ) -> None:
        self._base: dict[K, V] = {} if base is None else base
        self._changes: dict[K, Any] = {} if changes is None else changes
        self._size = len(self._base) if size < 0 else size

    def __getitem__(self, key: K) -> V:
        found = self._changes.get(key, _UNCHANGED)
        if found is _UNCHANGED:
            return self._base[key]
        if found is _REMOVED:
            raise KeyError(key)
        return cast(V, found)

    @overload
    def get(self, key: K, /) -> V | None: ...

    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...

    def get(self, key: K, /, default: Any = None) -> Any:
        found = self._changes.get(key, _UNCHANGED)
        if found is _UNCHANGED:
            return self._base.get(key, default)
        return default if found is _REMOVED else found

    def __contains__(self, key: object) -> bool:
        found = self._changes.get(cast(K, key), _UNCHANGED)
        return key in self._base if found is _UNCHANGED else found is not _REMOVED

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return iter(self._whole())

    def items(self) -> ItemsView[K, V]:
        return self._whole().items()

    def values(self) -> ValuesView[V]:
        return self._whole().values()

    def change(self) -> SharedMapChange[K, V]:
        """The beginning of a successor."""
        return SharedMapChange(self._base, dict(self._changes), self._size)

    def _whole(self) -> dict[K, V]:
        return _merged(self._base, self._changes) if self._changes else self._base


class SharedMapChange(Generic[K, V]):
    """A successor that is being made. It may change until it is finished."""

    def __init__(self, base: dict[K, V], changes: dict[K, Any], size: int) -> None:
        self._base = base
        self._changes = changes
        self._size = size

    def get(self, key: K) -> V | None:
        found = self._changes.get(key, _UNCHANGED)
        if found is _UNCHANGED:
            return self._base.get(key)
        return None if found is _REMOVED else cast(V, found)

    def __contains__(self, key: K) -> bool:
        found = self._changes.get(key, _UNCHANGED)
        return key in self._base if found is _UNCHANGED else found is not _REMOVED

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self:
            self._size += 1
        self._changes[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self._size -= 1
        if key in self._base:
            self._changes[key] = _REMOVED
        else:
            del self._changes[key]

    def values(self) -> list[V]:
        return list(_merged(self._base, self._changes).values())

    def finish(self) -> SharedMap[K, V]:
        """The successor. The change cannot be used after that."""
        if len(self._changes) > _few(len(self._base)):
            return SharedMap(_merged(self._base, self._changes))
        return SharedMap(self._base, self._changes, self._size)


def _few(entries: int) -> int:
    """The number of changes that a map with so many entries may have."""
    return max(_FEWEST, 2 * isqrt(entries))


def _merged(base: dict[K, V], changes: dict[K, Any]) -> dict[K, V]:
    merged = {**base, **changes}
    for key, value in changes.items():
        if value is _REMOVED:
            del merged[key]
    return merged
