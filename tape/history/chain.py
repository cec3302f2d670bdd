"""What hangs on a record or a leaf: its hooks, and the notes of its node.

A sweep comes by a record in this order: the hooks of the tensor, `retain_grad`, the hooks before
the rule, the rule, the hooks after it.

Of an op with several results, what hangs on these is looked at together, when the sweep comes by the op: in the order
in which hooks were first hung there, and with None for the results from which no adjoint has come, as in PyTorch.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ops import REGISTRY
from ops.core.bundle import Bundle

from ..base.spec import Spec
from ..base.tensor import Tensor
from ..recording.recorder import wrap

CLONE = REGISTRY["clone"]
Hook = Callable[..., Any]
Hooks = dict[int, Hook]
Adjoints = tuple[Tensor | None, ...]
_numbers = itertools.count()


class RemovableHandle:
    """Takes a hook away again: by ``remove()``, or at the end of a ``with`` block."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: Hooks, hook: Hook):
        if not callable(hook):
            raise TypeError(f"a hook must be a function, or something else that can be called; got {hook!r}")
        self._hooks = hooks
        self.id = next(_numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Do not call the hook any more; nothing happens the second time."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class Hung:
    """What a user has hung on a record or leaf; it may hold anything.

    Attributes:
        hooks: called with the adjoint of the tensor.
        before: hooks of the node, called with the adjoints of its results before its rule runs.
        after: hooks of the node, called with those of its operands and of its results after.
        accumulated: called with a leaf whose ``.grad`` has been added to.
        metadata: what the user wrote down at the node.
    """

    __slots__ = ("accumulated", "after", "before", "hooks", "metadata")

    def __init__(self) -> None:
        self.hooks: Hooks = {}
        self.before: Hooks = {}
        self.after: Hooks = {}
        self.accumulated: Hooks = {}
        self.metadata: dict[Any, Any] = {}


class Chain:
    """The hooks of one record or leaf.

    Attributes:
        spec: shape and dtype of the adjoint; None for an op with several results.
        retained: the tensor whose ``.grad`` keeps what the hooks of the tensor leave of it.
        outputs: of an op with several results, what hangs on these, with their numbers.
        is_output: whether this is such a result, whose hooks are called with those of the others.
        first: the number of the first hook of the tensor that ever hung here, or a greater one than all.
    """

    __slots__ = ("_hung", "_lent", "first", "is_output", "outputs", "retained", "spec")

    def __init__(self, spec: Spec | None):
        self.spec = spec
        self.retained: weakref.ref[Tensor] | None = None
        self.outputs: list[tuple[int, Chain]] = []
        self.is_output = False
        self.first: float = inf
        self._hung: Hung | None = Hung()
        self._lent: weakref.ref[Any] | None = None

    def hung(self) -> Hung:
        """What hangs here, also while it is lent."""
        found = self._hung
        if found is None:
            loan = self._lent and self._lent()
            found = loan.hung if loan else Hung()
        return found

    def lend(self, loan: Any) -> None:
        """Let what hangs here live as long as something else does, which holds it as ``loan.hung``."""
        self._hung, self._lent = None, weakref.ref(loan)

    def take_back(self, hung: Hung) -> None:
        """Hold again what was lent."""
        self._hung, self._lent = hung, None

    @property
    def is_lent(self) -> bool:
        """Whether something else holds what hangs here."""
        return self._hung is None

    hooks = property(lambda self: self.hung().hooks)
    before = property(lambda self: self.hung().before)
    after = property(lambda self: self.hung().after)
    accumulated = property(lambda self: self.hung().accumulated)
    metadata = property(lambda self: self.hung().metadata)

    def stops(self) -> bool:
        """Whether a sweep has anything to do here."""
        hung = self._hung or self.hung()
        mine = not self.is_output and (hung.hooks or self.retained or self.outputs)
        return bool(mine or hung.before or hung.after)

    def surrounds(self) -> bool:
        """Whether something runs just before or after the rule."""
        hung = self._hung or self.hung()
        return bool(hung.before or hung.after)

    def receive(self, g: Any) -> Any:
        """The adjoint after the hooks of the tensor, an array, a tensor or a bundle as it came."""
        if self.is_output:
            return g
        if self.outputs:
            return self._receive_parts(g)
        result = self._pass(g) if self.hooks else g
        self._retain(result)
        return result

    def _receive_parts(self, g: Bundle) -> Bundle:
        """The adjoints of several results after the hooks of these."""
        parts = dict(g.parts)
        for i, chain in sorted(self.outputs, key=lambda output: output[1].first):
            parts[i] = chain._pass(parts.get(i))
        for i, chain in self.outputs:
            chain._retain(parts[i])
        return Bundle({i: part for i, part in parts.items() if part is not None})

    def _pass(self, g: Any) -> Any:
        """What the hooks of the tensor leave of an adjoint, an array or a tensor as it came, or None."""
        if g is None or isinstance(g, Tensor):
            return apply(self.hooks, g, self.spec)
        return apply(self.hooks, wrap(g), self.spec)._data

    def _retain(self, g: Any) -> None:
        tensor = None if self.retained is None else self.retained()
        if tensor is not None and g is not None:
            retain(tensor, g)

    def enter(self, gs: Adjoints) -> Adjoints:
        """The adjoints of the results after the hooks before the rule."""
        for hook in tuple(self.before.values()):
            gs = _replaced(hook(gs), gs, hook)
        return gs

    def leave(self, bars: Adjoints, gs: Adjoints) -> Adjoints:
        """The adjoints of the operands after the hooks after the rule."""
        for hook in tuple(self.after.values()):
            bars = _replaced(hook(bars, gs), bars, hook)
        return bars


def retain(tensor: Tensor, g: Any) -> None:
    """Add an adjoint to the ``.grad`` of a tensor that is not a leaf."""
    value = g._data if isinstance(g, Tensor) else g
    mine = CLONE(g) if isinstance(g, Tensor) and g._node is not None else wrap(np.array(value)[()])
    tensor._grad = mine if tensor._grad is None else tensor._grad + mine


def apply(hooks: Hooks, g: Any, spec: Spec | None) -> Any:
    """Pass an adjoint, or None where none has come, through the hooks of a tensor."""
    for hook in tuple(hooks.values()):
        result = hook(g)
        if result is not None:
            if g is None:
                raise _none_error("the gradient", hook)
            assert spec is not None, "tensors have a shape"
            g = _checked(result, spec, hook)
    return g


def _none_error(what: str, hook: Hook) -> RuntimeError:
    return RuntimeError(
        f"can't replace a None gradient with a non-None value: {what} of hook '{_name(hook)}' is None, so return None "
        "in its place"
    )


def _replaced(result: Any, gs: Adjoints, hook: Hook) -> Adjoints:
    """What a hook of a node makes of adjoints."""
    if result is None:
        return gs
    name = _name(hook)
    if not isinstance(result, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(result).__name__}': {name}, a hook of a node, must return None "
            "or a tuple of the tensors that replace the gradients"
        )
    if len(result) != len(gs):
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected {len(gs)}): "
            "one for each gradient"
        )
    return tuple([_replacement(mine, g, i, hook) for i, (g, mine) in enumerate(zip(gs, result))])


def _replacement(mine: Any, g: Tensor | None, i: int, hook: Hook) -> Tensor | None:
    if mine is None:
        return None
    if g is None:
        raise _none_error(f"gradient {i}", hook)
    return _checked(mine, g._spec, hook)


def _checked(result: Any, spec: Spec, hook: Hook) -> Tensor:
    name = _name(hook)
    if not isinstance(result, Tensor):
        raise TypeError(
            f"a gradient hook must return None or the tensor that replaces the gradient; {name} returned "
            f"{type(result).__name__}"
        )
    if result._spec.shape != spec.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: a gradient hook must keep the shape; the gradient has shape "
            f"{spec.shape}, what it returned {result._spec.shape}"
        )
    if result.dtype != spec.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value: a gradient hook must keep the dtype; the gradient is "
            f"{spec.dtype}, what it returned {result.dtype}; convert it with .to({spec.dtype})"
        )
    return result


def _name(hook: Hook) -> str:
    return getattr(hook, "__qualname__", repr(hook))
