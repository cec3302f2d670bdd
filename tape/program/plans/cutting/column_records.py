"""The records of a listing that is made anew, some of them for the columns of arrays (see `array_columns`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ops import REGISTRY, Op

from ....base.spec import Spec, spec
from ...recorded.large.fingerprint import key_of
from ...recorded.listing import Listing, columns_of, is_fixed
from ...recorded.trace import CONSTANT

BROADCAST, GETITEM, PERMUTE, RESHAPE, SELECT, STACK = (
    REGISTRY[name] for name in ("broadcast_to", "getitem", "permute", "reshape", "select", "stack")
)
MOST_COLUMNS = 256
"""Arrays of more columns, and beside them arrays of more elements, stay arrays."""
KINDS = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.bool_)


class NoColumns(Exception):
    """A record is not for columns."""


class TooMany(Exception):
    """There would be too many records for columns."""


class ArrayColumns(NamedTuple):
    """An array as its columns.

    Attributes:
        ids: along its short axes, the record of each column: of n numbers, or of one where all are the same.
        at: which axis is the long one, counted from the last, which is −1.
    """

    ids: np.ndarray
    at: int


class ColumnRecords:
    """The new records so far.

    Attributes:
        n: how long the long axis is.
        columns: by old record, its columns where there are records for them.
        elements: by old record without long axis, the records of its numbers where there are some.
    """

    def __init__(self, listing: Listing, n: int, most: int):
        self.old, self.n, self.most = listing, n, most
        self.columns: dict[int, ArrayColumns] = {}
        self.elements: dict[int, np.ndarray] = {}
        self._params, self._constants = list(listing.params), list(listing.constants)
        self._records: list[tuple[int, tuple[int, ...], int, int]] = []
        self._specs: list[Spec | None] = []
        self._place: dict[int, int] = {}
        self._known: dict[Any, int] = {}
        self._read: set[int] = set()
        self._computed: set[int] = set()
        self._line, self._totals = -1, 0

    # Records.

    def begin(self, k: int) -> None:
        """What follows is made for old record k."""
        self._line = int(self.old.line[k])

    def keep(self, k: int) -> None:
        """An old record as it is."""
        old, self._line = self.old, int(self.old.line[k])
        operands = tuple([self.array(j) for j in old.operands(k)])
        self._place[k] = self._add(int(old.code[k]), operands, int(old.param[k]), old.spec_of(k))

    def _add(self, code: int, operands: tuple[int, ...], param: int, made: Spec | None) -> int:
        self._records.append((code, operands, param, self._line))
        self._specs.append(made)
        return len(self._records) - 1

    def say(self, op: Op, operands: Sequence[int], made: Spec, **params: Any) -> int:
        """A record of an op; one that is there already serves again."""
        key = key_of(op.code, params), tuple(operands), made
        found = self._known.get(key)
        if found is None:
            param = -1
            if params:
                param = len(self._params)
                self._params.append(params)
            found = self._known[key] = self._add(op.code, tuple(operands), param, made)
        return found

    def compute(self, op: Op, operands: Sequence[int], dtype: np.dtype[Any]) -> int:
        """An elementwise op of columns and numbers, which gives a column, of numbers alone a number.

        Raises:
            TooMany: if there are too many of them.
        """
        wide = any(self._specs[i].ndim for i in operands)  # type: ignore[union-attr]
        found = self.say(op, operands, spec((self.n,) if wide else (), dtype))
        self._computed.add(found)
        if len(self._computed) - self._totals > self.most:
            raise TooMany
        return found

    def joined(self, op: Op, ids: Sequence[int], dtype: np.dtype[Any]) -> int:
        """A function of two numbers that joins many: pairs, then pairs of these, as sums are most exact."""
        ids = list(ids)
        while len(ids) > 1:
            pairs = [self.compute(op, pair, dtype) for pair in zip(ids[::2], ids[1::2])]
            ids = pairs + ids[len(ids) & ~1 :]
        return ids[0]

    def total(self, i: int) -> int:
        """The sum of a column."""
        made = self._specs[i]
        assert made is not None
        found = self.say(REGISTRY["sum"], [self._whole(i)], spec((), made.dtype), axis=None, keepdims=False)
        self._totals += found not in self._computed
        self._computed.add(found)
        return found

    def number(self, value: float, dtype: np.dtype[Any]) -> int:
        """A constant."""
        key = "number", float(value).hex(), dtype
        if key not in self._known:
            constant = np.array(value, dtype=dtype)
            constant.flags.writeable = False
            self._constants.append(constant)
            self._known[key] = self._add(CONSTANT, (), len(self._constants) - 1, spec((), dtype))
        return self._known[key]

    def _whole(self, i: int) -> int:
        """A column, where there may be one number for it."""
        made = self._specs[i]
        assert made is not None
        shape = (self.n,)
        return i if made.ndim else self.say(BROADCAST, [i], spec(shape, made.dtype), shape=shape)

    # What operands are.

    def is_wide(self, k: int) -> bool:
        """Whether an old record has the long axis and can be taken as columns."""
        if k in self.columns:
            return True
        s = self.old.spec_of(k)
        if s is None or s.shape.count(self.n) != 1 or s.dtype not in KINDS:
            return False
        return 0 < s.size <= MOST_COLUMNS * self.n

    def columns_of(self, k: int) -> ArrayColumns:
        """The columns of an old record, read out of its array if they were not made.

        Raises:
            NoColumns: if it has none.
        """
        if not self.is_wide(k):
            raise NoColumns
        if k not in self.columns:
            self.columns[k] = self._read_columns(k)
        return self.columns[k]

    def _read_columns(self, k: int) -> ArrayColumns:
        s = self.old.spec_of(k)
        assert s is not None
        axis = s.shape.index(self.n)
        others, column = (*s.shape[:axis], *s.shape[axis + 1 :]), spec((self.n,), s.dtype)
        same = self._same(k)
        if same is not None:
            ids = np.full(others, same)
        elif s.size == self.n:
            array = self.array(k)
            ids = np.full(others, array if s.ndim == 1 else self.say(RESHAPE, [array], column, shape=(self.n,)))
        else:
            ids, array = np.empty(others, np.int64), self.array(k)
            for at in np.ndindex(others):
                index = (*at[:axis], slice(None), *at[axis:])
                ids[at] = self.say(GETITEM, [array], column, index=index)
                self._read.add(int(ids[at]))
        return ArrayColumns(ids, axis - s.ndim)

    def _same(self, k: int) -> int | None:
        """The number that a constant array has in every place, None if it is no such array."""
        if self.old.code[k] != CONSTANT or not is_fixed(constant := self.old.constant(k)):
            return None
        if not isinstance(constant, np.ndarray) or constant.dtype.kind != "f" or not constant.size:
            return None
        first = constant[(0,) * constant.ndim]
        if not first or (constant != first).any():  # zeros have signs
            return None
        return self.number(float(first), constant.dtype)

    def elements_of(self, k: int) -> np.ndarray:
        """The records of the numbers of an old record without long axis.

        Raises:
            NoColumns: if they are too many, or of other kinds.
        """
        found = self.elements.get(k)
        if found is None:
            s = self.old.spec_of(k)
            if s is None or self.n in s.shape or not 0 < s.size <= MOST_COLUMNS:
                raise NoColumns
            if not self.old.is_number(k) and s.dtype not in KINDS:
                raise NoColumns
            found = self.elements[k] = self._read_elements(k, s)
        return found

    def _read_elements(self, k: int, s: Spec) -> np.ndarray:
        array, one = self.array(k), spec((), s.dtype)
        if not s.ndim:
            return np.array(array)
        flat = array if s.ndim == 1 else self.say(RESHAPE, [array], spec((s.size,), s.dtype), shape=(s.size,))
        ids = [self.say(SELECT, [flat], one, index=i) for i in range(s.size)]
        return np.array(ids, dtype=np.int64).reshape(s.shape)

    def dtype_of(self, k: int) -> np.dtype[Any] | None:
        """The dtype of an old record, None of a plain number, which takes that of what it meets."""
        s = self.old.spec_of(k)
        return None if s is None or self.old.is_number(k) else s.dtype

    # What records that stay arrays, and results, need.

    def array(self, k: int) -> int:
        """The new record of an old one's whole array."""
        found = self._place.get(k)
        if found is None:
            s = self.old.spec_of(k)
            assert s is not None
            make = self._array_of_columns if k in self.columns else self._array_of_elements
            found = self._place[k] = make(k, s)
        return found

    def _array_of_columns(self, k: int, s: Spec) -> int:
        ids, at = self.columns[k]
        wholes = [self._whole(i) for i in ids.ravel().tolist()]
        turned = (*ids.shape, self.n)
        if len(wholes) == 1:
            joined = wholes[0]
        else:
            joined = self.say(STACK, wholes, spec((len(wholes), self.n), s.dtype), axis=0)
        if turned != self._shape(joined):
            joined = self.say(RESHAPE, [joined], spec(turned, s.dtype), shape=turned)
        if at == -1:
            return joined
        axes = list(range(s.ndim - 1))
        axes.insert(s.ndim + at, s.ndim - 1)
        return self.say(PERMUTE, [joined], s, axes=tuple(axes))

    def _array_of_elements(self, k: int, s: Spec) -> int:
        ids = self.elements[k].ravel().tolist()
        joined = ids[0] if len(ids) == 1 else self.say(STACK, ids, spec((len(ids),), s.dtype), axis=0)
        return joined if self._shape(joined) == s.shape else self.say(RESHAPE, [joined], s, shape=s.shape)

    def _shape(self, i: int) -> tuple[int, ...]:
        made = self._specs[i]
        assert made is not None
        return made.shape

    # The whole.

    def worth(self, outputs: Sequence[int]) -> tuple[int, int]:
        """How many records for columns there are, and how many columns are read out of arrays or put into some."""
        needed = np.zeros(len(self._records), dtype=np.bool_)
        needed[list(outputs)] = True
        moved = 0
        for i in range(len(needed) - 1, -1, -1):
            if not needed[i]:
                continue
            code, operands, _, _ = self._records[i]
            needed[list(operands)] = True
            moved += i in self._read or (len(operands) if code == STACK.code and len(self._shape(i)) > 1 else 0)
        return sum(bool(needed[i]) for i in self._computed), moved

    def listing(self, outputs: Sequence[int]) -> Listing:
        """All records as a listing."""
        specs: dict[Spec, int] = {}
        which = [-1 if s is None else specs.setdefault(s, len(specs)) for s in self._specs]
        code, operands, param, line = zip(*self._records)
        return replace(
            self.old,
            **columns_of(code, operands, param),
            spec=np.array(which, dtype=np.int64),
            line=np.array(line, dtype=np.int64),
            outputs=np.array(outputs, dtype=np.int64),
            params=self._params,
            specs=list(specs),
            constants=self._constants,
        )
