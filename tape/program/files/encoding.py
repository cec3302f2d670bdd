"""Values in the file of a program: JSON for plain data, everything else as ``{"tag": …}``, arrays by number.

===============  ======================================================================
``null``         None; so are ``true``, ``false``, integers and strings what they are
``float``        the number in hexadecimal, exact; ``complex``: two of them
``tuple``        a list of values; so are ``list``, ``size`` (a `tape.Size`)
``dict``         a list of pairs of values
``slice``        a list of three values
``ellipsis``     ``...``; ``slot`` is the place of an array in an index (see `ops.core.batching_index`)
``dtype``        its name; ``type``: one of Python's or NumPy's types of numbers, by name
``spec``         name of the dtype, and the shape
``array``        the number of an array; ``scalar``: of one without axes, for its one number
``structure``    ``tuple``, ``list``, ``dict`` or null (a leaf); the keys of a dict; what is inside
===============  ======================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.core.batching_index import SLOT, Slot

from ...base.spec import Spec, spec
from ...base.tensor import Size, Tensor
from ...base.tree import Structure
from .container import dtype_name, dtype_named

PLAIN = (type(None), bool, int, str)
CONTAINERS = {"tuple": tuple, "list": list, "dict": dict}
TYPES: dict[str, type] = {t.__name__: t for t in (bool, int, float, complex)}
NUMPY_TYPES: dict[str, type] = {np.dtype(c).name: np.dtype(c).type for c in "?bBhHiIlLqQefdFD"}


class Encoder:
    """Turns values into JSON.

    Attributes:
        arrays: the arrays in them, which JSON refers to by number.
        tags: by type, the tag and how the rest of the value is told.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        several = self.several
        self.tags: dict[type, tuple[str, Callable[[Any], Any]]] = {
            float: ("float", float.hex),
            complex: ("complex", lambda x: [x.real.hex(), x.imag.hex()]),
            tuple: ("tuple", several),
            list: ("list", several),
            Size: ("size", list),
            dict: ("dict", lambda x: [[self(k), self(v)] for k, v in x.items()]),
            slice: ("slice", lambda x: several((x.start, x.stop, x.step))),
            type(...): ("ellipsis", lambda x: None),
            Slot: ("slot", lambda x: None),
            Spec: ("spec", lambda x: [dtype_name(x.dtype), list(x.shape)]),
            np.ndarray: ("array", self.array),
            Structure: ("structure", self.structure),
        }

    def __call__(self, value: Any) -> Any:
        """The JSON of a value.

        Raises:
            TypeError: if a file cannot hold such a value.
        """
        kind = type(value)
        if kind in PLAIN:
            return value
        found = self.tags.get(kind)
        if found is not None:
            return {found[0]: found[1](value)}
        if isinstance(value, np.generic):
            return {"scalar": self.array(np.asarray(value))}
        if isinstance(value, np.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, Tensor):
            data = np.asarray(value._data)
            return {"array" if data.ndim else "scalar": self.array(data)}
        if value in TYPES.values():
            return {"type": value.__name__}
        if kind is type and issubclass(value, np.generic):
            return {"type": "numpy." + np.dtype(value).name}
        raise TypeError(
            f"a file cannot hold {value!r:.100} (of type {kind.__name__}): it holds numbers, strings, "
            "arrays, dtypes, slices, and tuples, lists and dicts of them."
        )

    def several(self, values: Any) -> list[Any]:
        return [self(x) for x in values]

    def array(self, array: np.ndarray) -> int:
        dtype_name(array.dtype)
        self.arrays.append(array)
        return len(self.arrays) - 1

    def structure(self, s: Structure) -> Any:
        if s.container is None:
            return None
        names = [name for name, container in CONTAINERS.items() if container is s.container]
        if not names:
            raise TypeError(
                f"a file of a program cannot hold a {s.container.__name__}: arguments and results must be in tuples, "
                "lists and dicts, not in types of your own."
            )
        return [names[0], self.several(s.keys), [self.structure(x) for x in s.inside]]


class Decoder:
    """Turns JSON back into values; what is no such JSON raises some exception."""

    def __init__(self, arrays: list[np.ndarray]):
        self.arrays = arrays
        several = self.several
        self.tags: dict[str, Callable[[Any], Any]] = {
            "float": float.fromhex,
            "complex": lambda x: complex(*map(float.fromhex, x)),
            "tuple": lambda x: tuple(several(x)),
            "list": several,
            "size": lambda x: Size(map(length, x)),
            "dict": lambda x: {self(k): self(v) for k, v in x},
            "slice": lambda x: slice(*several(x)),
            "ellipsis": lambda x: ...,
            "slot": lambda x: SLOT,
            "dtype": dtype_named,
            "type": self.type,
            "spec": self.spec,
            "array": self.array,
            "scalar": lambda x: self.array(x)[()],
            "structure": self.structure,
        }

    def __call__(self, code: Any) -> Any:
        """The value of some JSON."""
        if type(code) in PLAIN:
            return code
        ((tag, rest),) = code.items()
        return self.tags[tag](rest)

    def several(self, codes: Any) -> list[Any]:
        if type(codes) is not list:
            raise TypeError(f"{codes!r:.100} is no list")
        return [self(x) for x in codes]

    def array(self, number: Any) -> np.ndarray:
        return self.arrays[length(number)]

    @staticmethod
    def type(name: str) -> Any:
        return NUMPY_TYPES[name.removeprefix("numpy.")] if name.startswith("numpy.") else TYPES[name]

    @staticmethod
    def spec(code: Any) -> Spec:
        name, shape = code
        shape, dtype = tuple(map(length, shape)), dtype_named(name)
        length(math.prod(shape) * dtype.itemsize)
        return spec(shape, dtype)

    def structure(self, code: Any) -> Structure:
        if code is None:
            return Structure(None, (), ())
        name, keys, inside = code
        return Structure(CONTAINERS[name], tuple(self.several(keys)), tuple(map(self.structure, inside)))


def length(n: Any) -> int:
    """A number that counts something."""
    if type(n) is not int or not 0 <= n < 1 << 62:
        raise ValueError(f"{n!r:.100} is no length")
    return n
