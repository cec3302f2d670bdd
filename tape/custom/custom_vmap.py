"""Custom functions under `vmap`: by the function's own ``vmap``, or by mapping its forward and its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import ops
from ops.core.batching import LanesDiffer

from ..base.tensor import Tensor
from ..levels.batch import Batch, lanes_of
from ..levels.batched import batched
from ..recording.recording_modes import no_grad

if TYPE_CHECKING:
    from .call import Call


class VmapInfo(NamedTuple):
    """What a function's ``vmap`` is told: the number of lanes, and what random numbers do."""

    batch_size: int
    randomness: str


def apply_mapped(call: Call, level: Batch, xs: Sequence[Any], flags: Sequence[bool]) -> tuple[Tensor, ...]:
    """The results of a call on tensors, of which some have lanes in front, as batched tensors.

    Raises:
        RuntimeError: if the function says in no way, or in two ways, how it is mapped.
    """
    function = call.function
    own = function.vmap is not root_of(function).vmap  # type: ignore[attr-defined]
    if own and function.generate_vmap_rule:
        raise RuntimeError(
            f"vmap: {function.__name__} has both generate_vmap_rule=True and an overridden vmap staticmethod, and it "
            "is not clear which of them is meant.\nTake one away."
        )
    if not own and not function.generate_vmap_rule:
        raise LanesDiffer(
            f"you tried to vmap over {function.__name__}, but it does not have vmap support.\nSet generate_vmap_rule = "
            "True in the class if its forward and backward are made of tensor operations, or give it a static method "
            "vmap(info, in_dims, *args)."
        )
    call.ctx = Pushing(call)
    return _by_own(call, level, xs, flags) if own else _by_mapping(call, level, xs, flags)


def root_of(function: type) -> type:
    """The class that all custom functions derive from."""
    return next(c for c in function.__mro__ if c.__bases__ == (object,))


def _by_own(call: Call, level: Batch, xs: Sequence[Any], flags: Sequence[bool]) -> tuple[Tensor, ...]:
    """By the function's static method ``vmap(info, in_dims, *args)``, which gives (output, out_dims)."""
    name = call.function.__name__
    dims = iter([0 if b else None for b in flags])
    in_dims = tuple([next(dims) if call.is_tensor(arg) else None for arg in call.args])
    with level.left():
        returned = call.function.vmap(
            VmapInfo(level.n, level.randomness), in_dims, *call.arguments(xs), **(call.named or {})
        )
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(
            f"{name}.vmap is expected to have two returns, (output, out_dims), where out_dims has an entry for each "
            f"output; it returned {returned!r}"
        )
    output, out_dims = returned
    tensors = call.take(output)
    if not isinstance(output, tuple):
        out_dims = (out_dims,)
    elif not isinstance(out_dims, tuple):
        out_dims = (out_dims,) * len(output)
    outputs = output if isinstance(output, tuple) else (output,)
    if len(out_dims) != len(outputs):
        raise RuntimeError(
            f"{name}.vmap returned {len(outputs)} outputs and {len(out_dims)} out_dims; return one for each output"
        )
    if not all(d is None or isinstance(d, int) for d in out_dims):
        raise RuntimeError(f"{name}.vmap returned out_dims that are incompatible with its output: {out_dims!r}")
    placed = [d for x, d in zip(outputs, out_dims) if isinstance(x, Tensor)]
    return tuple([lanes_of(x, level, d) for x, d in zip(tensors, placed)])


def _by_mapping(call: Call, level: Batch, xs: Sequence[Any], flags: Sequence[bool]) -> tuple[Tensor, ...]:
    """By a function on the tensors below that maps forward, backward and jvp of the given one."""
    mapping = Mapping(call, level, flags)
    root = root_of(call.function)
    made = type(root)(
        call.function.__name__, (root,),
        {name: staticmethod(getattr(mapping, name)) for name in ("forward", "backward", "jvp")}
        | {"generate_vmap_rule": True},
    )  # fmt: skip
    with level.left():
        results = made.apply(*xs)  # type: ignore[attr-defined]
    return tuple([batched(x, level) for x in results])


class Kept:
    """The ctx of a function that is mapped: what it keeps are batched tensors."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Any, ...] = ()
        self.for_forward: tuple[Any, ...] | None = None
        self.plain: tuple[Any, ...] = ()
        self.materialize = True

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.for_forward = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.plain = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        raise RuntimeError(
            "mark_dirty() does not go together with generate_vmap_rule=True: the inputs are layers of vmap.\n"
            "Let forward change a copy, or give the function a static method vmap(info, in_dims, *args)."
        )

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize = bool(value)


class Pushing:
    """The rule of forward mode for a call that was mapped: the function's own jvp, on batched tensors."""

    def __init__(self, call: Call):
        self.call = call

    def jvp(self, xs: Sequence[Any], z: Sequence[Any], x_dots: Sequence[Any]) -> tuple[Any, ...]:
        call, kept = self.call, Kept()
        function, args = call.function, call.arguments(xs)
        if function._is_separate():
            rest = iter(z)
            results = tuple([next(rest) if call.is_tensor(x) else x for x in call.results])
            function.setup_context(kept, args, results if call.is_tuple else results[0])
        else:
            self.kept_by_forward(kept, args, z)
        if kept.for_forward is not None:
            kept.saved_tensors = kept.for_forward
        moving = iter([ops.zeros_like(x) if t is None and kept.materialize else t for x, t in zip(xs, x_dots)])
        found = function._jvp()(kept, *[next(moving) if call.is_tensor(x) else None for x in call.args])
        return found if isinstance(found, tuple) else (found,)

    def kept_by_forward(self, kept: Kept, args: tuple[Any, ...], z: Sequence[Any]) -> None:
        """What a forward that takes the ctx keeps; its results as those that are given, with their history."""
        with no_grad():
            again = self.call.function._forward()(kept, *args)
        again = [x for x in (again if isinstance(again, tuple) else (again,)) if isinstance(x, Tensor)]
        given = {id(x): x_given for x, x_given in zip(again, z)}
        kept.saved_tensors = tuple([given.get(id(x), x) for x in kept.saved_tensors])
        if kept.for_forward is not None:
            kept.for_forward = tuple([given.get(id(x), x) for x in kept.for_forward])


class Mapping:
    """Forward, backward and jvp of a function, mapped over the lanes of its arguments."""

    def __init__(self, call: Call, level: Batch, flags: Sequence[bool]):
        self.call, self.flags = call, flags
        self.level = Batch(level.n, level.randomness)
        self.kept = Kept()
        self.saved_with_lanes: list[bool] = []
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, ctx: Any, *xs: Any) -> tuple[Tensor, ...]:
        function, kept = self.call.function, self.kept
        self.shapes = [x._spec.shape[1:] if b else x._spec.shape for x, b in zip(xs, self.flags)]
        needs = iter(ctx.needs_input_grad)
        args = self.call.arguments(xs)
        kept.needs_input_grad = tuple([isinstance(x, Tensor) and next(needs) for x in args])  # type: ignore[attr-defined]
        with self.level.again() as level:
            args = self.call.arguments(self.layered(xs))
            if function._is_separate():
                result = function.forward(*args)
                function.setup_context(kept, args, result)
            else:
                result = function._forward()(kept, *args)
            tensors = self.call.take(result)
            below = [self.full(z) for z in tensors]
            saved = (*kept.saved_tensors, *(kept.for_forward or ()))
            known = {id(z): p for z, p in zip(tensors, below)}
            parts = [(None, False) if x is None else level.parts(x) for x in saved]
        self.saved_with_lanes = [known.get(id(x)) is not None or b for x, (_, b) in zip(saved, parts)]
        physical = [known.get(id(x), p) for x, (p, _) in zip(saved, parts)]
        count = len(kept.saved_tensors)
        ctx.save_for_backward(*physical[:count])
        if kept.for_forward is not None:
            ctx.save_for_forward(*physical[count:])
        plain = [p for z, p in zip(tensors, below) if any(z is x for x in kept.plain)]
        ctx.mark_non_differentiable(*plain)
        ctx.set_materialize_grads(kept.materialize)
        kept.plain = ()
        return tuple(below)

    def backward(self, ctx: Any, *gs: Any) -> tuple[Any, ...]:
        positions = [i for i, x in enumerate(self.call.args) if self.call.is_tensor(x)]
        with self.level.again():
            self.restore(ctx.saved_tensors, 0)
            grads = [None if g is None else batched(g, self.level) for g in gs]
            bars = self.call.function._backward()(self.kept, *grads)
            bars = bars if isinstance(bars, tuple) else (bars,)
            return tuple([self.bar(bars[i], b, shape) for i, b, shape in zip(positions, self.flags, self.shapes)])

    def jvp(self, ctx: Any, *x_dots: Any) -> tuple[Any, ...]:
        rest = iter(self.layered(x_dots))
        tangents = [next(rest) if self.call.is_tensor(x) else None for x in self.call.args]
        forward = self.kept.for_forward is not None
        with self.level.again():
            self.restore(ctx.saved_tensors, len(self.kept.saved_tensors) if forward else 0)
            found = self.call.function._jvp()(self.kept, *tangents)
            found = found if isinstance(found, tuple) else (found,)
            return tuple([None if t is None else self.full(t) for t in found])

    def layered(self, xs: Sequence[Any]) -> list[Any]:
        return [batched(x, self.level) if b and x is not None else x for x, b in zip(xs, self.flags)]

    def restore(self, saved: Sequence[Any], start: int) -> None:
        """Let the function's ctx show what was saved, with the layers it had."""
        lanes = self.saved_with_lanes[start:]
        self.kept.saved_tensors = tuple([batched(x, self.level) if b else x for x, b in zip(saved, lanes)])

    def full(self, z: Tensor) -> Tensor:
        below, has_lanes = self.level.parts(z)
        return below if has_lanes else self.level.full(below)

    def bar(self, bar: Any, has_lanes: bool, shape: tuple[int, ...]) -> Any:
        """The adjoint of an input: one for each lane, or the sum over them of an input that all lanes share."""
        if bar is None:
            return None
        if bar._spec.shape != shape:
            bar = ops.sum_to(bar, shape=shape)
        below = self.full(bar)
        return below if has_lanes else ops.sum(below, axis=0)
