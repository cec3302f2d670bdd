"""``Function``: operations with a gradient of the user's own."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ..base.rooms import opened
from ..base.row import X
from ..base.tensor import Face, Tensor
from ..recording.recorder import bind, operand
from ..recording.wengert import current
from .call import Call, append_row, output_of, run
from .context import FunctionCtx
from .rules import BackwardCFunction, UserCode

F = TypeVar("F", bound=Callable[..., Any])


def once_differentiable(function: F) -> F:
    """Decorate a ``backward`` that works on plain values: nothing in it is recorded.

    Its gradients can be used under ``create_graph=True``, but to differentiate them is an error.
    """

    @functools.wraps(function)
    def backward(ctx: Any, *grads: Any) -> Any:
        wengert = current()
        with UserCode(wengert):
            wengert.recording = False
            result = function(ctx, *grads)
        row = ctx._row() if isinstance(ctx, FunctionCtx) else None
        refs = [*(row[X] if row else ()), *map(operand, grads)]
        refs = [ref for ref in refs if ref is not None]
        if not wengert.recording or not refs:
            return result
        title = getattr(ctx, "_title", function.__qualname__)
        handle = append_row(wengert, tuple(refs), None, Once(title), None)
        bars = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(
            [output_of(wengert, handle, i, x._data) if isinstance(x, Tensor) else x for i, x in enumerate(bars)]
        )

    return backward  # type: ignore[return-value]


class Once:
    """The ctx of gradients that must not be differentiated."""

    __slots__ = ("title",)

    def __init__(self, title: str):
        self.title = title

    def name(self) -> str:
        return "Error"

    def vjp(self, g: Any, wanted: tuple[int, ...], row: Any = None) -> list[Any]:
        raise RuntimeError(
            f"trying to differentiate twice a function that is marked once_differentiable: {self.title}.\nWrite its "
            "backward in tensor operations and take the mark away, or do not differentiate its gradient."
        )


__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
    "once_differentiable",
]  # fmt: skip

_signature = functools.lru_cache(256)(inspect.signature)


@functools.lru_cache(256)
def _count(forward: Callable[..., Any]) -> int:
    """How many arguments a function takes, all by position, if it takes no others."""
    parameters = _signature(forward).parameters.values()
    plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    return len(parameters) if plain else -1


class FunctionMeta(type):
    """Gives each function the class of its ctx, which is named after it."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any):
        super().__init__(name, bases, namespace, **kwargs)
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_function": cls, "__slots__": ()})


class Function(metaclass=FunctionMeta):
    """An operation whose gradient is written by hand: a class with static ``forward`` and ``backward``.

    ``forward(ctx, *args)`` computes the result, from any arguments, and keeps in ``ctx`` what
    ``backward(ctx, *grad_outputs)`` needs; that returns a gradient, or None, for each argument.
    Or ``forward(*args)`` computes, and ``setup_context(ctx, inputs, output)`` keeps.  Nothing is
    recorded in forward; backward is recorded under ``create_graph=True``, so write it in tensor
    operations if it shall be differentiated, or mark it `once_differentiable`.
    ``jvp(ctx, *tangents)`` is the rule of forward mode.
    Functions are used by ``apply`` and have no instances; making one, with ``args`` and ``kwargs``, warns.

    >>> import tape
    >>> class Exp(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (y,) = ctx.saved_tensors
    ...         return grad_output * y
    >>> x = tape.zeros(2, requires_grad=True)
    >>> Exp.apply(x)
    tensor([1., 1.], grad_fn=<ExpBackward>)
    """

    generate_vmap_rule = False
    _backward_cls: type[BackwardCFunction]

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(
            f"{type(self).__name__} should not be instantiated: its methods are static; call its apply()",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated: "
            f"{name}()(…) is how such functions were called.\nMake forward and backward static "
            f"methods that take ctx, and call {name}.apply(…)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result: a tensor, or a tuple of tensors and other things."""
        raise NotImplementedError("a Function needs a static method forward(ctx, *args), or forward(*args)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep in ctx what backward needs, where forward does not take a ctx."""
        raise NotImplementedError("a Function whose forward takes no ctx needs a static method setup_context")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """A gradient, or None, for each argument of forward, from one for each of its results."""
        raise NotImplementedError("a Function needs a static method backward(ctx, *grad_outputs)")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """A tangent, or None, for each result of forward, from one for each of its arguments."""
        raise NotImplementedError("a Function needs a static method jvp(ctx, *tangents) in forward mode")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        """The function under `tape.func.vmap`: (output, out_dims); a dim is the axis that the lanes lie along, or None.

        ``info`` has ``batch_size`` and ``randomness``.  Or say ``generate_vmap_rule = True``.
        """
        raise NotImplementedError("a Function needs a static method vmap(info, in_dims, *args) under vmap")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record the operation if a gradient may flow.

        Arguments by name get a gradient where forward takes no ctx, because `setup_context` sees them among its
        inputs.  Beside a ctx they only choose: backward returns a gradient for those by position alone.

        Raises:
            NotImplementedError: without a forward.
            TypeError, RuntimeError: if forward returns, or has marked, what it cannot; for a tensor that requires
                grad and would get none.
        """
        if any(isinstance(x, Face) for x in (*args, *kwargs.values())):
            return opened("tape.numpy.inside").of_tensors(cls.apply, args, kwargs)
        if cls._is_separate():
            if kwargs or len(args) != _count(cls.forward):
                bound = _signature(cls.forward).bind(*args, **kwargs)
                bound.apply_defaults()
                args, kwargs = bound.args, {}
        elif kwargs:
            cls._check_named(kwargs)
        tensors = [x for x in args if isinstance(x, Tensor)]
        for x in tensors:
            if type(x) is not Tensor and type(x).__bind__ is not bind:  # it belongs to a transformation
                return Call(cls, args, kwargs)(tensors)
        return run(cls, args, tensors, kwargs)[1]

    @classmethod
    def _check_named(cls, named: dict[str, Any]) -> None:
        """Raise for a tensor by name that would silently get no gradient."""
        for name, x in named.items():
            if isinstance(x, Tensor) and (x._node is not None or type(x).__bind__ is not bind):
                raise TypeError(
                    f"{cls.__name__}.apply() got {name} by name, a tensor that requires grad or belongs to a "
                    "transformation: beside a ctx only arguments by position get a gradient.\nPass it by position, or "
                    "define setup_context."
                )

    @classmethod
    def _is_separate(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _forward(cls) -> Callable[..., Any]:
        if cls.forward is Function.forward:
            raise NotImplementedError(
                f"You must implement the forward function: {cls.__name__} defines none.\nGive it a static method "
                "forward(ctx, *args), or forward(*args) beside setup_context(ctx, inputs, output)."
            )
        return cls.forward

    @classmethod
    def _backward(cls) -> Callable[..., Any]:
        """The rule for reverse mode, under either of its names."""
        backward, vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if backward and vjp:
            raise RuntimeError(
                f"Implementing both 'backward' and 'vjp' is not allowed, as {cls.__name__} does: they are two names of "
                "one rule; keep one."
            )
        if not backward and not vjp:
            raise NotImplementedError(
                "You must implement either the backward or vjp method to use a function in backward mode: "
                f"{cls.__name__} defines neither.\nGive it a static method backward(ctx, *grad_outputs) that returns a "
                "gradient for each argument of forward."
            )
        return cls.backward if backward else cls.vjp

    @classmethod
    def _jvp(cls) -> Callable[..., Any]:
        if cls.jvp is Function.jvp:
            raise NotImplementedError(
                f"You must implement the jvp function to use a function in forward mode: {cls.__name__} defines none.\n"
                "Give it a static method jvp(ctx, *tangents) that returns a tangent for each result of forward, or use "
                "reverse mode."
            )
        return cls.jvp


class InplaceFunction(Function):
    """An old name of `Function` for operations that change their input; use `Function` and ``ctx.mark_dirty``."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """An old name of `Function` for nested arguments; use `Function`, whose ``apply`` takes anything."""
