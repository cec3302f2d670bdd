"""What is in containers, cells and arrays, and whether it is the same as before."""

from __future__ import annotations

import array
import collections
import ctypes
import gc
import itertools
import sys
from collections.abc import Callable
from operator import is_
from types import FunctionType, GetSetDescriptorType, MappingProxyType, MethodType
from typing import Any

import numpy as np

from ...numpy.classes import StandIn
from ...numpy.doors import DOORS
from ...numpy.names.taken import Door

PLAIN = (int, float, complex, str, bytes)
MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()
SMALL, CHUNK = 1 << 12, 1 << 18
"""Bytes up to which a copy is compared rather than the memory, and that NumPy compares at a time."""


def is_frozen(array: Any) -> bool:
    """Whether nobody can write to an array: neither through it nor through what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable or (array.base is None and not array.flags.owndata):
            return False
        array = array.base
    return array is None or type(array) is bytes


def same_bytes(array: np.ndarray, copy: np.ndarray) -> bool:
    """Whether an array holds the bytes of a copy, which is in row-major order."""
    now = np.ascontiguousarray(array)
    if now.nbytes != copy.nbytes:
        return False
    return now.tobytes() == copy.tobytes() if now.nbytes <= SMALL else COMPARE(now, copy)


def _by_chunks(now: np.ndarray, copy: np.ndarray) -> bool:
    """`same_bytes` of arrays without gaps, by NumPy."""
    x, y = (a.reshape(-1).view(np.uint8) for a in (now, copy))
    return all(bool((x[k : k + CHUNK] == y[k : k + CHUNK]).all()) for k in range(0, len(x), CHUNK))


def _comparison() -> Callable[[np.ndarray, np.ndarray], bool]:
    """`same_bytes` of arrays without gaps, which are of the same size, by C's ``memcmp`` where that is found."""
    try:
        memcmp = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).memcmp
    except (OSError, AttributeError):
        return _by_chunks
    memcmp.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
    memcmp.restype = ctypes.c_int
    return lambda now, copy: memcmp(now.ctypes.data, copy.ctypes.data, now.nbytes) == 0


COMPARE = _comparison()


def content_of(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return MISSING


def mapping_of(kind: type) -> dict[str, Any]:
    """The dict behind the ``__dict__`` of a class."""
    found = gc.get_referents(vars(kind))[0]
    assert isinstance(found, dict), kind
    return found


def parts_of(container: Any) -> list[Any]:
    """What is in a container, whatever its class does to tell otherwise."""
    own = CONTAINERS.get(type(container))
    if own is not None:
        return own(container)
    for kind, items in CONTAINERS.items():
        if isinstance(container, kind):
            return items(container)
    raise TypeError(type(container))


def length_of(container: Any) -> int:
    """How many things are in a container, whatever its class does to tell otherwise."""
    kind: Any = next(kind for kind in CONTAINERS if isinstance(container, kind))
    found: int = np.ndarray.size.__get__(container) if kind is np.ndarray else kind.__len__(container)
    return found


def _items(mapping: Any) -> list[Any]:
    return list(itertools.chain.from_iterable(mapping.items()))


CONTAINERS: dict[type, Callable[[Any], list[Any]]] = {
    collections.OrderedDict: lambda x: list(itertools.chain.from_iterable(collections.OrderedDict.items(x))),
    dict: lambda x: list(itertools.chain.from_iterable(dict.items(x))),
    list: lambda x: list(list.__iter__(x)),
    tuple: lambda x: list(tuple.__iter__(x)),
    set: lambda x: list(set.__iter__(x)),
    frozenset: lambda x: list(frozenset.__iter__(x)),
    collections.deque: lambda x: [x.maxlen, *collections.deque.__iter__(x)],
    bytearray: lambda x: [bytes(x)],
    array.array: lambda x: [x.typecode, x.tobytes()],
    memoryview: lambda x: [x.format, x.shape, x.tobytes()],
    MappingProxyType: _items,
    np.ndarray: lambda x: [x.shape, *np.asarray(x).flat],
}
"""By type, what is in a container."""


def holds(container: Any, parts: list[Any]) -> bool:
    """Whether a container holds just these."""
    now = parts_of(container)
    return len(now) == len(parts) and (all(map(is_, now, parts)) or all(map(alike, now, parts)))


def fill(container: Any, parts: list[Any]) -> None:
    """Let a container hold these again."""
    if isinstance(container, bytearray):
        container[:] = parts[0]
    elif isinstance(container, array.array):
        del container[:]
        container.frombytes(parts[1])
    elif isinstance(container, np.ndarray):
        for k, part in enumerate(parts[1:]):
            container.flat[k] = part
    elif isinstance(container, collections.deque):
        container.clear()
        container.extend(parts[1:])
    elif isinstance(container, dict):
        container.clear()
        container.update(zip(parts[::2], parts[1::2]))
    else:
        container.clear()
        container.extend(parts) if isinstance(container, list) else container.update(parts)


def alike(now: Any, value: Any) -> bool:
    """Whether something is the same object, or the same number or text, as before."""
    return now is value or equal(now, value)


def original(thing: Any) -> Any:
    """What a door of `tape.numpy.doors` stands in the place of, while something is recorded; else the thing itself."""
    if issubclass(type(thing), StandIn):
        return thing.kind
    is_door = type(thing) is Door or (type(thing) is FunctionType and thing.__code__ in DOORS)
    return thing.__wrapped__ if is_door else thing


def equal(now: Any, value: Any) -> bool:
    """Whether something is the same number or text as before, if it is not the same object."""
    now, value = original(now), original(value)
    kind = type(now)
    if now is value:
        return True
    if kind is not type(value):
        return False
    if kind is MethodType:
        return now.__func__ is value.__func__ and now.__self__ is value.__self__
    if kind is tuple or kind is frozenset:
        return len(now) == len(value) and all(map(alike, now, value))
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return now.tobytes() == value.tobytes() and now.dtype == value.dtype and not now.dtype.hasobject
    if kind is float or kind is complex:
        return repr(now) == repr(value)  # so nan is nan, and 0.0 is not -0.0
    return kind in PLAIN and bool(now == value)


def dict_of(thing: Any) -> dict[str, Any] | None:
    """The dict of an object's attributes, if it has one."""
    for kind in type(thing).__mro__:
        member = vars(kind).get("__dict__")
        if type(member) is GetSetDescriptorType:
            found = member.__get__(thing)
            return found if type(found) is dict else None
    return None
