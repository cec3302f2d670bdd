"""Which arguments of a function are differentiated, what it sees of them meanwhile, and what it returns.

There is one list, not one for each derivative that is being taken; what keeps nested derivatives
apart is that each gives its function new tensors and sweeps back to those alone.  A new tensor is a
leaf, or a record that is an alias of an argument with a history, so that outer derivatives see
through it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import ops

from ..backprop.backward import gradients
from ..backprop.grad import grad_batched
from ..base.tensor import Tensor
from ..base.tree import Mismatch, Structure, build, leaves_like, leaves_of, structure_of
from ..levels.direction import zeros
from ..recording.functionalising import last_of
from ..recording.kept_values import tell_of_kept
from ..recording.leaf import VARIABLES, leaf, recorded
from ..recording.level import (
    Layer,
    Level,
    active,
    begun,
    components,
    history_of,
    is_of_program,
    keys,
    levels_of,
    live,
    program_records,
    requires_grad,
)
from ..recording.recorder import wrap
from ..recording.wengert import current, key
from .met_again import gives, is_over, is_taken_here, kept_of, sweeping
from .owners import OWNERS, Owner, is_nobodys, made_last, owners_running


class Inner(Owner):
    """The new tensors of one function that is differentiated.

    Attributes:
        recording: whether what is outside of the derivative wants to differentiate through it.
        cuts: the new tensors in the place of those whose history, though gradients are recorded, they do not have.

    Leaves of derivatives that its function takes on the way are nobody's once these are done.  Its gradients may depend
    on them, but nothing outside differentiates through that.
    """

    def __init__(self, recording: bool | None = None):
        super().__init__()
        self.recording = current().recording if recording is None else recording
        self.cuts: list[Tensor] = []
        self._may_cut = current().recording and not self.recording
        self._leaves: dict[int, Tensor] = {}
        self._calling_it = [r for r in owners_running() if r() is not None]
        owners_running()[:] = [*self._calling_it, weakref.ref(self)]
        self._own: set[int] = set()  # records known to depend on these leaves alone; what a record depends on stays

    def argument(self, x: Tensor) -> Tensor:
        """A new tensor in the place of an argument: the function gets it, and the sweep goes to it."""
        for level in active():
            if not level.has(x):
                # The argument may be the same in all lanes; its adjoint is not.
                x = level.lifted(x) if level.lifting and is_within_others(x, level) else x
                level.lifting = True
            if not self.recording:
                for part in components(x):
                    part._refuse_recording("a derivative was taken within vmap and no_grad")
        target = self._new(live(x))
        self.targets.append(target)
        for part in components(target):
            part._seek(True)
        return _twin(target)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """While the function runs, until it returns or raises."""
        try:
            yield
        finally:
            self._called()

    def _called(self) -> None:
        """The function has returned: its numbers may leave what is being recorded again."""
        self.is_running = False
        owners_running()[:] = [r for r in owners_running() if r() not in (None, self)]
        is_over(self.past, self.targets, self.cuts)
        for target in self.targets:
            for part in components(target):
                part._seek(False)

    def _new(self, x: Tensor) -> Tensor:
        if isinstance(x, Layer):
            return x.over(self._new)
        if not x._spec.inexact:
            return self.leaf(x._data)
        now = recorded(x)
        if now is not x or (self.recording and x._node is not None):
            return ops.reshape(now, shape=x._spec.shape)
        # In a program every call has a leaf of its own.
        made = x.detach().requires_grad_() if is_of_program(x) else self.leaf(x._data)
        if self._may_cut and x._carries_gradient():
            self.cuts.append(made)
        return made

    def variable(self, value: Any) -> Tensor:
        """Something new to differentiate with respect to, within `vmap` and in what is being recorded too."""
        for level in active():
            level.lifting = True
        return self._new(wrap(value))

    def leaf(self, value: Any) -> Tensor:
        """A leaf of this derivative's own, on the given memory."""
        made = leaf(value, requires_grad=True)
        made._born = last_of(current()) + 1 - 1  # another int, which keeps no record
        self._leaves[key(made)] = VARIABLES[key(made)] = made
        OWNERS[key(made)] = self
        for inner in self._around():
            inner.within[key(made)] = weakref.ref(made)
        return made

    def is_seen_outside(self, *tensors: Tensor) -> bool:
        """Whether tensors depend on something with a gradient that is not this derivative's own."""
        is_any_kept, around, found = False, self._around(), keys(tensors)
        if not around and found <= self._own:
            return False
        seen = around[-1].seen if around else set()
        owners: set[Owner] = set()
        for k in history_of(found, self._own):
            is_outside = k < 0 and k not in self._leaves and not self.was_within(k)
            if k in seen or (is_outside and not is_nobodys(k)):
                if k in seen or OWNERS.get(k) in (None, *around):
                    seen.update(k + 1 - 1 for k in found if k > 0)  # other ints, which keep no record
                return True
            if is_outside and not any(inner.was_within(k) for inner in around):
                owner = OWNERS.get(k)
                is_any_kept = is_any_kept or (owner is None and not is_taken_here(k))
                owners.update(() if owner is None else (owner,))
        if is_any_kept:
            tell_of_kept(made_last(tensors, self._leaves))
        elif owners and (met := kept_of(tensors, self.past.begin, [owner.as_past() for owner in owners])) is not None:
            tell_of_kept(met.line)
        self._own.update(k for k in found if k > 0)
        return False

    def _around(self) -> list[Owner]:
        """The derivatives within whose functions this one is taken, as long as there are such."""
        return [inner for r in self._calling_it if (inner := r()) is not None] if self._calling_it else []

    def gradients(
        self, outputs: Iterable[Tensor], weights: Iterable[Tensor | None], *, retain: bool,
        create: bool | None = None, batched: bool = False,
    ) -> list[Tensor | None]:  # fmt: skip
        """Σ ⟨weight, output⟩ differentiated; None for a target that no output depends on.

        Recorded if ``create``; where that is None, if something outside may differentiate through it.
        For many weights along a first axis if ``batched``.
        """
        pairs = [(z, g) for z, g in zip(outputs, weights) if requires_grad(z)]
        if not pairs:
            return [None] * len(self.targets)
        zs, gs = zip(*pairs)
        targets = tuple(self.targets)
        if create is None:
            create = current().recording and self.is_seen_outside(*zs, *(g for g in gs if g is not None))
        differentiate = partial(grad_batched, gradients) if batched else gradients
        with sweeping(create):
            return differentiate(zs, gs, targets, retain or create, create, True)

    def outside(self, x: Any) -> Any:
        """A result as the caller gets it: without a history that is this derivative's own alone."""
        if not isinstance(x, Tensor):
            return x
        x = live(x)
        if isinstance(x, Layer):
            return x.through(self.outside)
        if x._node is None or (current().recording and self.is_seen_outside(x)):
            gives(self.past, x)
            return x
        return x.detach()

    def gives(self, results: Iterable[Tensor], to_anybody: bool) -> None:
        """Results are given back with their history; outside of all transformations its leaves are anybody's then."""
        for x in results:
            gives(self.past, x)
        if to_anybody and not begun() and program_records() is None:
            for k in self._leaves:
                VARIABLES.pop(k, None)

    def filled(self, gradients: Iterable[Tensor | None]) -> list[Tensor]:
        """Gradients as the caller gets them, with zeros for the targets that nothing depends on."""
        return [zeros(t) if g is None else self.outside(g) for t, g in zip(self.targets, gradients)]


def is_within_others(x: Any, level: Level) -> bool:
    """Whether an argument has a history, and belongs to levels outside of a level that it has no layer of.

    If a derivative that is being taken sees what this one gives, the sweep must not go on lane by lane.
    """
    return requires_grad(x) and any(other.depth < level.depth for other in levels_of(x))


def _twin(x: Tensor) -> Tensor:
    """Another tensor of the same record, so that the function may change its own in place."""
    if isinstance(x, Layer):
        return x.over(_twin)
    if x._node is True:
        return x
    twin = wrap(x._data, x._node, x._spec)
    twin.__class__ = type(x)  # who notes the ops on the argument, notes them here
    return twin


Argnums = int | tuple[int, ...]


def positions(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The positions that `argnums` means, among so many arguments.

    Raises:
        RuntimeError: if one is no int, is out of range, or comes twice; or if there is none.
    """
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    if not wanted:
        raise RuntimeError("argnums must be non-empty: it names at least one argument; got ()")
    for k in wanted:
        if not isinstance(k, int):
            raise RuntimeError(f"argnums must be int or Tuple of ints, and each of them must be int; got {argnums!r}")
        if not -count <= k < count:
            raise RuntimeError(f"argnums {k} does not exist: there are arguments, but only {count} positional inputs")
    found = tuple(k % count for k in wanted)
    if len(set(found)) < len(found):
        raise RuntimeError(f"argnums must be unique: they name each argument once; got {argnums!r}")
    return found


def with_respect_to(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums | None, name: str
) -> tuple[Structure, list[Tensor], Callable[[Iterable[Any]], Any]]:
    """Of the arguments that `argnums` means, or all: how they are built, the tensors in them, and `func` of these."""
    at = range(len(args)) if argnums is None else positions(argnums, len(args))
    chosen = args[at[0]] if isinstance(argnums, int) else tuple(args[k] for k in at)
    structure = structure_of(chosen)

    def of_these(new: Iterable[Any]) -> Any:
        made = build(structure, new)
        into = dict(zip(at, (made,) if isinstance(argnums, int) else made))
        return func(*[into.get(k, x) for k, x in enumerate(args)], **kwargs)

    return structure, tensors_in(chosen, f"{name}: the arguments that are differentiated"), of_these


def tensors_in(tree: Any, what: str) -> list[Tensor]:
    """The leaves of a tree of tensors.

    Raises:
        ValueError: if there is none, or one is no tensor.
    """
    found = leaves_of(tree)
    for x in found:
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{what} must be tensors, or tuples, lists and dicts of tensors; got {type(x).__name__}.\n{_advice(x)}"
            )
    if not found:
        raise ValueError(f"{what} must hold at least one tensor; got {tree!r}")
    return found


LEFT_OUT = "argnums= says which arguments are, has_aux=True which result is"


def _advice(x: Any) -> str:
    """What to write in the place of something that is no tensor."""
    if isinstance(x, int):
        return f"Write it as a float, {int(x)}.0, or leave it out of what is differentiated: {LEFT_OUT}."
    if x is None or isinstance(x, str):
        return f"Leave it out of what is differentiated: {LEFT_OUT}."
    if isinstance(x, np.ndarray):
        return f"It is of dtype {x.dtype}: make it one of numbers, with .astype(float)."
    return (
        "Convert it with tape.tensor(), np.array(); of an object, give what it is made of, and make it in the function."
    )


def outputs_in(tree: Any, name: str) -> list[Tensor]:
    """The leaves of what a function returned.

    Raises:
        RuntimeError: if there is none, or one is no tensor.
    """
    try:
        return tensors_in(tree, f"{name}: what the function returns")
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def inexact(outputs: list[Tensor], name: str) -> list[Tensor]:
    """The outputs, checked to have a derivative.

    Raises:
        RuntimeError: if one is an integer or boolean tensor.
    """
    advice = "Return what has no derivative as aux, with has_aux=True."
    return _checked(outputs, f"{name}: what the function returns", advice)


def movable(xs: list[Tensor], name: str) -> list[Tensor]:
    """The arguments, checked to have directions.

    Raises:
        RuntimeError: if one is an integer or boolean tensor.
    """
    advice = "Write its numbers as floats (1.0 instead of 1), or let the function take it from around it."
    return _checked(xs, f"{name}: the arguments that are differentiated", advice)


def _checked(tensors: list[Tensor], what: str, advice: str) -> list[Tensor]:
    for x in tensors:
        if not x._spec.inexact:
            raise RuntimeError(f"{what} must be floating point or complex; got {x.dtype}.\n{advice}")
    return tensors


def fitting(structure: Structure, refs: list[Tensor], tree: Any, what: str, like: str) -> list[Tensor]:
    """The tensors of a tree that must be built like another, with the shapes and dtypes of its tensors.

    Raises:
        RuntimeError: if it is not.
    """
    try:
        tensors = leaves_like(structure, tree)
    except Mismatch:
        raise RuntimeError(
            f"{what} must have the structure of {like}, {structure}; got {type(tree).__name__}: {tree!r}"
        ) from None
    for i, (x, ref) in enumerate(zip(tensors, refs)):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{what} must be tensors; number {i} is {type(x).__name__}")
        if x._spec.shape != ref._spec.shape:
            raise RuntimeError(
                f"{what} must have the shapes of {like}: number {i} must have {ref._spec.shape}, has {x._spec.shape}"
            )
        if x._spec.dtype != ref._spec.dtype:
            raise RuntimeError(
                f"{what} must have the dtypes of {like}: number {i} must be {ref.dtype}, is {x.dtype}; convert "
                f"it with .to({ref.dtype}), an array with .astype({ref._spec.dtype.name!r})"
            )
    return tensors


def split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """Output and aux of a function.

    Raises:
        RuntimeError: if `has_aux` and it did not return a tuple of two.
    """
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple (output, aux) with has_aux=True; got "
            f"{type(result).__name__}"
        )
    return result
