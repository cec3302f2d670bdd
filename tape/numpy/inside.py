"""The rule: arrays in, arrays inside, arrays out; tensors in, tensors inside, tensors out.

A transformation works on tensors.  Given arrays, it gets tensors of them and a function that hands arrays to the
user's; what it gives becomes arrays again: plain ones, but for those that an outer recording still needs.
"""

from __future__ import annotations

import functools
from _thread import get_ident
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import numpy as np

import ops

from ..base.dtypes import NUMERIC, kind_of
from ..base.tensor import Face, Narrow, Tensor
from ..base.tree import leaves_of, transform
from ..recording.leaf import VARIABLES
from ..recording.level import history, live
from ..recording.recorder import check_class, wrap
from ..recording.views import materialise
from .arrays.beside_tensors import keeps_history, refuse, running
from .arrays.face import Array, Number, array, face, faces
from .arrays.leaving import recording, told
from .arrays.python_number import PythonNumber, python_number
from .arrays.unwrapping import bare, has_tensor
from .opening import IDLE, opened

F = TypeVar("F", bound=Callable[..., Any])


def counts_as_arrays(args: Any) -> bool:
    """Whether arguments are arrays and numbers without a tensor among them."""
    return are_arrays(leaves_of(args))


def are_arrays(leaves: list[Any]) -> bool:
    """Whether there are arrays and numbers among some leaves, and no tensor."""
    found = False
    for x in leaves:
        if isinstance(x, Tensor):
            return False
        found = found or is_array(x)
    return found


def is_array(x: Any) -> bool:
    """Whether something counts as an array: arrays of numbers, their scalars, plain floats and complex numbers."""
    check_class(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return kind_of(x.dtype) in NUMERIC
    return isinstance(x, (float, complex))


def as_tensor(x: Any) -> Any:
    """A leaf of the arguments as a tensor, if it is an array."""
    if isinstance(x, Face):
        return x._tensor
    if isinstance(x, (np.ndarray, np.generic, float, complex)) and is_array(x):
        return wrap(np.asarray(x)[()])
    return x


def as_tensors(args: Any) -> Any:
    """Arguments with tensors in the place of arrays."""
    return transform(as_tensor, args)


def without_axes(leaves: list[Any]) -> frozenset[int]:
    """Which leaves of some arguments are arrays without axes, rather than numbers."""
    return frozenset([k for k, x in enumerate(leaves) if isinstance(x, np.ndarray) and not x.ndim])


# What a function returned.  A tensor without axes stands for a number of NumPy's; where a transformation gives its
# caller what the function returned (the value, aux), that is what the function returns outside of the transformation.


class Returned:
    """A tensor without axes that is given back as an array, or as a number of Python's."""

    __slots__ = ("as_array", "tensor")

    def __init__(self, tensor: Tensor, as_array: bool):
        self.tensor, self.as_array = tensor, as_array

    def of(self, given: Any) -> Any:
        """What is given back of the tensor, which is a recorded number or one of NumPy's, as what was returned."""
        if isinstance(given, Face):
            return (array if self.as_array else python_number)(given._tensor)
        if isinstance(given, Tensor):
            return given
        return np.asarray(given) if self.as_array else given.item()


Made = Callable[[Tensor], Returned]


def _array_without_axes(tensor: Tensor) -> Returned:
    return Returned(tensor, as_array=True)


def _number_of_pythons(tensor: Tensor) -> Returned:
    return Returned(tensor, as_array=False)


def made_of(x: Any) -> Made | None:
    """What stands for a tensor in the place of something that was returned, if not the tensor alone."""
    kind = type(x)
    if kind is Array or kind is np.ndarray:
        return None if x.shape else _array_without_axes
    return _number_of_pythons if kind is PythonNumber or kind is float or kind is complex else None


def kinds_of(result: Any) -> list[Made | None]:
    """By leaf of what a function returned, what stands for its tensor; nothing if those are all themselves."""
    found = [made_of(x) for x in leaves_of(result)]
    return found if any(found) else []


def as_returned(function: Any, tree: Any, last: bool = False) -> Any:
    """A part of what a function of tensors returned, the first or the `last`, as what the function of arrays returned.

    Its tensors may be others by now.
    """
    kinds = getattr(function, "kinds", None)
    if not kinds:
        return tree
    count = len(leaves_of(tree))
    left = iter(kinds[len(kinds) - count :] if last else kinds[:count])

    def leaf(x: Any) -> Any:
        made = next(left)
        return x if made is None or not isinstance(x, Tensor) else made(x)

    return transform(leaf, tree)


class Inside:
    """A function of arrays, called with tensors; where it `gives_arrays`, it is not recorded if it gives tensors.

    Attributes:
        arrays: which leaves of the arguments are arrays also if they have no axes.
        kinds: what it returned last, as `as_returned` takes it.
    """

    # A Jacobian of four numbers takes a quarter longer by arrays than by tensors.  Of that, taken away one by one, half
    # is the copy by which a function may write into its arguments (a record, swept back once for each row), a third
    # the doors, a seventh what tells of a refusal that the function swallowed.

    def __init__(
        self, function: Callable[..., Any], arrays: frozenset[int] = frozenset(), *, gives_arrays: bool = False
    ):
        functools.update_wrapper(self, function, updated=())
        self.function, self.arrays, self.gives_arrays = function, arrays, gives_arrays
        self.kinds: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self._in_turn() if self.arrays else _own
        new_args, new_kwargs = transform(own, args), transform(own, kwargs)
        callers = tuple([x for x in leaves_of([args, kwargs]) if not issubclass(type(x), IDLE)])
        with opened(self.function, callers) as doors, running(recorded=False), told():
            result = doors.call(new_args, new_kwargs)
        if self.gives_arrays:
            refuse("a function of arrays gives tensors", [x for x in leaves_of(result) if isinstance(x, Tensor)])
        if type(result) is Number:
            self.kinds = []
            return result._tensor
        self.kinds = kinds_of(result)
        return as_tensors(result)

    def _in_turn(self) -> Callable[[Any], Any]:
        """`_own` of one leaf after the other, some of which are arrays without axes."""
        places = count()

        def own(x: Any) -> Any:
            is_array = next(places) in self.arrays and isinstance(x, Tensor)
            return array(x._with_own_memory()) if is_array else _own(x)

        return own


def _own(x: Any) -> Any:
    """An argument as the function gets it: with memory of its own, which it may write into."""
    if not isinstance(x, Tensor):
        return x
    if not x._spec.shape:
        return face(x)
    return array(x._with_own_memory())


def outside(result: Any, keep: bool) -> Any:
    """Results as arrays: plain ones, but for those that are still recorded, and all if `keep`.

    What is recorded with tensors, where no function of arrays runs, stays a tensor.
    """

    def leaf(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x.of(leaf(x.tensor)) if type(x) is Returned else x
        x = live(x)
        if type(x) not in PLAIN or x._node is not None:
            keeps_history(x)
            if keep or get_ident() in recording or x._lacks_history():
                return face(x)
            if type(x) not in PLAIN or not all(k > 0 or k in VARIABLES for k in history([x])):
                return x
            x = x.detach()  # of numbers that were kept of a derivative
        if keep:
            return face(x)
        value = materialise(x)
        return value if value.ndim else value[()]

    return transform(leaf, result)


PLAIN = Tensor, Narrow


def are_faces(leaves: list[Any]) -> bool:
    """Whether one of some leaves is recorded."""
    return any(isinstance(x, Face) for x in leaves)


def of_tensors(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function of tensors gives of recorded arrays: such arrays, or tensors if there is one among them."""
    result = function(*bare(args), **bare(kwargs))
    return result if has_tensor(args) or has_tensor(kwargs) else faces(result)


def arrays_inside(transformation: F) -> F:
    """Let a transformation ``T(function, …)(*arguments)`` go by the rule."""

    @functools.wraps(transformation)
    def transformed(func: Callable[..., Any], *how: Any, **named: Any) -> Callable[..., Any]:
        of_tensors = transformation(func, *how, **named)

        @functools.wraps(of_tensors)
        def call(*args: Any, **kwargs: Any) -> Any:
            if args and type(args[0]) is Tensor:
                return of_tensors(*args, **kwargs)
            leaves = leaves_of((args, kwargs))
            if not are_arrays(leaves):
                return of_tensors(*args, **kwargs)
            found = transformation(Inside(func, without_axes(leaves)), *how, **named)(
                *as_tensors(args), **as_tensors(kwargs)
            )
            return outside(found, are_faces(leaves))

        call.__wrapped__ = func
        return call

    return transformed  # type: ignore[return-value]


def inputs_inside(transformation: F) -> F:
    """Let a transformation ``T(function, inputs, …)``, which calls the function at once, go by the rule.

    A linear function among the results, such as `vjp` gives, takes and gives arrays too.
    """

    @functools.wraps(transformation)
    def transformed(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else None
        if type(first) is Tensor or (type(first) is tuple and first and type(first[0]) is Tensor):
            return transformation(func, *args, **kwargs)
        leaves = leaves_of((args, kwargs))
        if not are_arrays(leaves):
            return transformation(func, *args, **kwargs)
        keep = are_faces(leaves)
        found = transformation(Inside(func, without_axes(leaves)), *as_tensors(args), **as_tensors(kwargs))
        return transform(lambda x: _linear(x, keep) if callable(x) else x, outside(found, keep))

    return transformed  # type: ignore[return-value]


def _linear(function: Callable[..., Any], keep: bool) -> Callable[..., Any]:
    """A linear function of tensors as one of arrays."""

    @functools.wraps(function)
    def call(*vectors: Any, **how: Any) -> Any:
        given = as_tensors(vectors)
        found = function(*given, **how)
        if keep or are_faces(leaves_of(vectors)):
            return outside(_apart(found, leaves_of(given)), True)
        return outside(found, False)

    return call


def _apart(found: Any, given: list[Any]) -> Any:
    """Results with memory of their own, as those have that are not recorded: no vector's, and no other result's."""
    taken = [x._memory() for x in given if isinstance(x, Tensor)]

    def leaf(z: Any) -> Any:
        if not isinstance(z, Tensor):
            return z
        z = ops.clone(z) if any(z._memory() is memory for memory in taken) else z
        taken.append(z._memory())
        return z

    return transform(leaf, found)
