"""NumPy's objects that are indexed or gone through: `np.nditer` over recorded arrays, ``np.r_[…]``, ``np.mgrid[…]``.

`np.nditer` gives elements as arrays without axes, in the order in which NumPy visits them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..base.tensor import Face
from .arrays.attributes import readonly
from .arrays.face import Recorded
from .arrays.leaving import plain, refusal
from .arrays.memory_order import outline, tell_layout
from .arrays.unwrapping import holds_face
from .constructors import CONSTRUCTORS, as_array, gathered, recordable

TAKEN = frozenset({"multi_index", "c_index", "f_index", "refs_ok", "zerosize_ok", "copy_if_overlap", "delay_bufalloc"})
"""The flags that change nothing for recorded arrays, or say what is asked for beside the elements."""


def nditer(op: Any, flags: Any = None, op_flags: Any = None, op_dtypes: Any = None, order: Any = "K",
           casting: Any = "safe", op_axes: Any = None, itershape: Any = None, buffersize: int = 0) -> Any:  # fmt: skip
    """`np.nditer`, of recorded arrays one of its own.

    Raises:
        TypeError: for what it does with other axes, dtypes or chunks of recorded arrays.
    """
    how = {"op_dtypes": op_dtypes, "op_axes": op_axes, "itershape": itershape}
    if not holds_face(op):
        given = {name: value for name, value in how.items() if value is not None}
        return np.nditer(op, flags or (), op_flags, order=order, casting=casting, buffersize=buffersize, **given)
    if any(value is not None for value in how.values()) or not set(flags or ()) <= TAKEN:
        raise refusal("other axes, dtypes, shapes or chunks than those of its elements", "np.nditer")
    operands = list(op) if isinstance(op, (list, tuple)) else [op]
    is_single = not isinstance(op, (list, tuple))
    kinds = [op_flags] if op_flags and isinstance(op_flags[0], str) else op_flags
    kinds = [list(kind) for kind in kinds or [["writeonly"] if x is None else ["readonly"] for x in operands]]
    return Elements(operands, kinds * len(operands) if len(kinds) == 1 else kinds, flags or (), order, is_single)


class Elements:
    """The elements of arrays at each place of the shape that they are broadcast to."""

    def __init__(self, operands: list[Any], kinds: list[list[str]], flags: Any, order: Any, is_single: bool):
        shape = np.broadcast_shapes(*[np.shape(x) for x in operands if x is not None])
        zeros = CONSTRUCTORS["zeros"]
        self.operands = tuple([
            zeros(shape, np.result_type(*[y for y in operands if y is not None])) if x is None else as_array(x)
            for x in operands
        ])  # fmt: skip
        if str(order).upper() not in ("C", "F"):
            for x in self.operands:
                if isinstance(x, Face):
                    tell_layout(x._tensor)
        seen = [outline(x._tensor) if isinstance(x, Face) else x for x in self.operands]
        writes = [next((k for k in kind if k in WRITES), "readonly") for kind in kinds]
        self._flags, self._is_single, self._writes = frozenset(flags), is_single, writes
        how: Any = [[w] for w in writes]
        at = np.nditer(seen, ["multi_index", "zerosize_ok"], how, order=order)
        self._lengths, self.itersize = at.shape, at.itersize
        self.shape = np.nditer(seen, [*flags, "zerosize_ok"], how, order=order).shape  # in which axes may be one
        self._places: list[tuple[int, ...]] = []
        while not at.finished:
            self._places.append(at.multi_index)
            at.iternext()
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.iterindex, self._is_begun = 0, False

    @property
    def finished(self) -> bool:
        """Whether there is no further place."""
        return self.iterindex >= len(self._places)

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The place, with a number for each axis."""
        if "multi_index" not in self._flags:
            raise ValueError("Iterator is not tracking a multi-index")
        return self._places[self.iterindex]

    @property
    def index(self) -> int:
        """The number of the place in row-major order, or column-major where that was asked for."""
        if not {"c_index", "f_index"} & self._flags:
            raise ValueError("Iterator does not have an index")
        order: Any = "C" if "c_index" in self._flags else "F"
        return (
            int(np.ravel_multi_index(self._places[self.iterindex], self._lengths, order=order)) if self._lengths else 0
        )

    @property
    def value(self) -> Any:
        """The elements here, as arrays without axes."""
        found = tuple([self._element(k) for k in range(len(self.operands))])
        return found[0] if self._is_single else found

    def _element(self, k: int) -> Any:
        x = self.operands[k]
        place = self._places[self.iterindex][len(self._lengths) - np.ndim(x) :]
        found = x[(*[0 if n == 1 else i for i, n in zip(place, np.shape(x))], ...)]
        if self._writes[k] == "readonly" and isinstance(found, np.ndarray):
            return (
                readonly(found) if isinstance(found, Face) else np.lib.stride_tricks.as_strided(found, writeable=False)
            )
        return found

    def __len__(self) -> int:
        return len(self.operands)

    def __getitem__(self, k: int) -> Any:
        return self._element(range(len(self.operands))[k])

    def __setitem__(self, k: int, value: Any) -> None:
        self[k][...] = value

    def iternext(self) -> bool:
        """Go to the next place; whether there is one."""
        self.iterindex += 1
        return not self.finished

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.iterindex += self._is_begun
        self._is_begun = True
        if self.finished:
            raise StopIteration
        return self.value

    def __enter__(self) -> Elements:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is to be written back: elements are written at once."""


WRITES = "readonly", "readwrite", "writeonly"


JOINER = next(kind for kind in type(np.r_).__mro__ if "__getitem__" in vars(kind))
GRID = next(kind for kind in type(np.mgrid).__mro__ if "__getitem__" in vars(kind))
_join, _grid = vars(JOINER)["__getitem__"], vars(GRID)["__getitem__"]
_enumerate = np.ndenumerate.__init__


def joined(self: Any, key: Any) -> Any:
    """``np.r_[…]`` and ``np.c_[…]``: laid out by NumPy, with numbers of places for the elements."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not any(map(holds_face, parts)):
        return recordable(_join(self, key), tuple(parts))
    if isinstance(parts[0], str) and parts[0] in ("r", "c"):
        raise refusal(f"np.r_[{parts[0]!r}, …], which makes a matrix,")
    flat, count, kinds = [], 0, []
    for k, part in enumerate(parts):
        if isinstance(part, str):
            continue
        values: Any = _join(self, plain(part)) if isinstance(part, slice) else gathered(part)
        kinds.append(values if isinstance(values, (int, float, complex)) and not isinstance(values, Face)
                     else values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype)  # fmt: skip
        size, shape = np.size(values), np.shape(values)
        parts[k] = np.arange(count, count + size).reshape(shape)[()]
        flat.append(np.ravel(values))
        count += size
    dtype = np.result_type(*kinds)
    return np.concatenate([x.astype(dtype) for x in flat])[_join(self, tuple(parts))]


def grid(self: Any, key: Any) -> Any:
    """``np.mgrid[…]`` and ``np.ogrid[…]``, whose bounds are plain numbers."""
    return recordable(_grid(self, key))


def enumerated(self: Any, arr: Any) -> None:
    """`np.ndenumerate` of a recorded array."""
    if isinstance(arr, Recorded):
        self.iter = arr.flat
    else:
        _enumerate(self, arr)


CLASSES: list[tuple[type, str, Callable[..., Any]]] = [
    (JOINER, "__getitem__", joined), (GRID, "__getitem__", grid), (np.ndenumerate, "__init__", enumerated),
]  # fmt: skip
"""The methods that have doors."""
