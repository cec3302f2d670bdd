"""What an op is, how one is declared, and the registry that everything else is derived from.

An op is declared once.  Its rules are ordinary functions written in ops; **the names of their
arguments say what they need**, and that is how the list knows what to save:

==============  =====================================================================
argument        what arrives
==============  =====================================================================
``x``, ``y``    the value of that operand (the operand names of the op's own signature)
``z``           the value of the result
``g``           the adjoint of the result (in a vjp)
``x_shape``     the shape of operand ``x``, without keeping its value alive; ``x_dtype`` its dtype
``xs``, ``i``   in a variadic op: the tuple of all operand values, the operand's position
``wanted``      in a joint rule: the positions of the operands whose adjoints are of use
anything else   the op's parameter of that name
==============  =====================================================================
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .arguments import NO_DEFAULT, argument_names, arguments_of
from .axis_order import AS_COMPUTED, OPERANDS, ROWS
from .differentiate import Derivatives, Rule, conjugate, in_dtype, is_complex, joining, ready, ready_or_number, shape_of
from .domain import Truth
from .hints import NO_HINTS, Hints
from .registry import ADJOINT, HOLOMORPHIC, OPS, REGISTRY

__all__ = [
    "ADJOINT", "HOLOMORPHIC", "REGISTRY", "Op", "composite", "conjugate", "elementwise", "general", "in_dtype",
    "is_complex", "joining", "linear", "plain", "ready", "ready_or_number", "shape_of",
]

def answers() -> dict[Any, Op]:
    """The op that answers for each of NumPy's functions: a composite, where one stands before the op that it calls."""
    composites_last = sorted(REGISTRY.values(), key=lambda op: op.kind == "composite")
    return {function: op for op in composites_last for function in op.numpy}


class Op(Derivatives):
    """A primitive operation: its forward function, its rules, and what is known about it.

    Attributes:
        name: unique name, also that of the public function.
        kind: ``"elementwise"``, ``"linear"``, ``"general"``, ``"plain"`` (no derivative) or
            ``"composite"`` (made of other ops, which record themselves).
        forward: evaluates the op on NumPy arrays.
        operands: names of the array arguments; a variadic op has one, ``"xs"``.
        arity: how many these are; −1 for a variadic op.
        params: names of the other arguments, with their defaults.
        rules: per operand, its `Rule`, or None where the op is constant in that operand.
        joint: one `Rule` for all operands together, in place of `rules`: it gives a sequence with an
            adjoint, or None, for each operand, and is run once for those that are `wanted`.
        reads_values: whether a vjp reads values, of operands or the result, and not their shapes and parameters alone.
        lane: how a SIMD kernel computes the op (see `ops.core.lane`), or None.
        hints: what else passes and kernels may make use of (see `ops.core.hints`).
        numpy: the NumPy functions that the op answers for.
        scipy: names of the functions in `scipy.special` that the op answers for; a forward that is one brings its own.
        symbol: the Python operator it implements, such as ``"mul"`` for ``__mul__``.
        domain: per operand, the `ops.domain.Interval` where it is smooth (elementwise ops).
        chooses: positions of the operands that are truth values (elementwise ops).
        cases: ``cases(rng)`` yields ``(operands, params)`` for the property tests (other ops).
        symmetric: whether the op takes its operand to be a symmetric matrix; its adjoint is one.
        view: whether the result is another look at the operand's memory; a function of the parameters
            where they decide.
        broadcasts: whether it works element by element, by declaration or because NumPy's function does.
        batch: how the op applies to a whole batch (see `ops.core.batching`), where that does not follow from its kind.
        complex: what its rules mean for complex numbers, `HOLOMORPHIC` or `ADJOINT` (that of linear ops unless they
            say otherwise); True where there are no rules; None where the op has no meaning for complex numbers.
        lies: how PyTorch has the results lie in memory (see `ops.core.axis_order`): unless the declaration says
            otherwise, as the operands do where it works element by element, and else in row-major order; views and
            composites as they are computed.
        outputs: number of results, −1 where the parameters decide; unless it is 1 the forward
            gives a tuple and ``g`` is a `Bundle`.
        integers: how many of several results, the last ones, are integers.  No adjoint comes to these, and the rules
            read no other results.
        code: the op's position in `OPS`, the opcode of its records.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        forward: Callable[..., Any],
        rules: Sequence[Callable[..., Any] | None] = (),
        *,
        jvp: Callable[..., Any] | None = None,
        joint: Callable[..., Any] | None = None,
        numpy: Sequence[Callable[..., Any]] = (),
        scipy: Sequence[str] = (),
        symbol: str | None = None,
        node: str | Callable[..., str] | None = None,
        lane: Any = None,
        hints: Hints = NO_HINTS,
        domain: Any = None,
        cases: Callable[..., Any] | None = None,
        doc: str | None = None,
        outputs: int = 1,
        integers: int = 0,
        symmetric: bool = False,
        view: bool | Callable[..., bool] = False,
        complex: str | bool | None = None,
        batch: Callable[[Any], Any] | None = None,
        lies: str | None = None,
    ):
        self.name = self.__name__ = self.__qualname__ = name
        self.kind = kind
        self.forward = forward
        self.operands, self.params = ((), {}) if kind == "composite" else _signature(forward)
        self.variadic = self.operands == ("xs",)
        self.arity = -1 if self.variadic else len(self.operands)
        self.rules = tuple(r and Rule(r, kind == "elementwise") for r in rules)
        self.joint = joint and Rule(joint, False)
        self.reads_values = not self.needs(range(abs(self.arity))).isdisjoint({*self.operands, "z"})
        self.jvp_rule = jvp
        self.numpy = (forward, *numpy) if isinstance(forward, np.ufunc) else tuple(numpy)
        self.scipy = (*getattr(forward, "scipy", ()), *scipy)
        self.symbol = symbol
        self.node = node
        self.lane = lane
        self.hints = hints
        self.domain = domain
        self.chooses = frozenset(i for i, interval in enumerate(domain or ()) if isinstance(interval, Truth))
        self.cases = cases
        self.outputs = outputs
        self.integers = integers
        self.symmetric = symmetric
        self.view = view
        self.complex = ADJOINT if complex is None and kind == "linear" else complex
        self.batch = batch
        self.broadcasts = batch is None and _is_elementwise(kind, forward)
        self.lies = lies or _lies(kind, view, self.broadcasts)
        self.__doc__ = doc or inspect.getdoc(forward)
        self.__module__ = "ops"
        if name in REGISTRY:
            raise ValueError(f"an op named {name!r} is declared already; choose another name")
        self.code = len(OPS)
        OPS.append(self)
        REGISTRY[name] = self

    def title(self, params: dict[str, Any]) -> str:
        """What to call an application of the op in a message: its name, or that of the function it stands for."""
        return self.name if self.name != "custom" else self.node_name(params).removesuffix("Backward")

    def node_name(self, params: dict[str, Any], number: int | None = None, ndim: int = 0) -> str:
        """Name of the op's node in the graph, as PyTorch spells it: ``MulBackward0``.

        Args:
            params: the parameters of the application.
            number: which of its two operands is a plain number, if one is.
            ndim: how many axes the result has.
        """
        if callable(self.node):
            return self._ask(self.node, {**params, "number": number, "ndim": ndim})
        return self.node or "".join(p.capitalize() for p in self.name.split("_")) + "Backward0"

    def is_view(self, params: dict[str, Any]) -> bool:
        """Whether an application of the op gives another look at its operand's memory."""
        return self._ask(self.view, params) if callable(self.view) else self.view

    def part_of(self, params: dict[str, Any]) -> tuple[Any, ...] | None:
        """The indices of the part that an application reads or writes (see `Hints.part`), None if there is none."""
        return None if self.hints.part is None else self._ask(self.hints.part, params)

    def puts_at(self, params: dict[str, Any]) -> tuple[Any, ...] | None:
        """The indices at which an application adds its operands (see `Hints.puts`), None if it is not said."""
        return None if self.hints.puts is None else self._ask(self.hints.puts, params)

    def steps(self, s: Any, params: dict[str, Any], operands: Sequence[Any]) -> Any:
        """What the steps of an application give (see `Hints.steps`)."""
        return self._call(self.hints.steps, (s, *operands), params)

    def made_of(self, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """What is computed in the place of an application (see `Hints.made_of`)."""
        return self._call(self.hints.made_of, operands, params)

    def alarm(self, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """What makes the floating-point errors of an application (see `Hints.alarm`)."""
        return self._call(self.hints.alarm, operands, params)

    def _call(self, function: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """Call a function of operands and of those parameters that it names."""
        taken = arguments_of(function)
        wanted = taken.keywords if taken.starred else taken.names[len(operands) :]
        return function(*operands, **{n: params[n] if n in params else self.params[n] for n in wanted})

    def _ask(self, fact: Callable[..., Any], params: dict[str, Any]) -> Any:
        """A fact that depends on the parameters it names."""
        return fact(**{n: params[n] if n in params else self.params[n] for n in _names_in(fact)})

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> str:
        return self.name


_names_in = cache(argument_names)
"""What a fact about an op asks for; an op, once declared, stays."""


def _lies(kind: str, view: Any, broadcasts: bool) -> str:
    """How the results of an op lie that does not say so."""
    if view or kind == "composite":
        return AS_COMPUTED
    return OPERANDS if broadcasts else ROWS


def _is_elementwise(kind: str, forward: Callable[..., Any]) -> bool:
    if isinstance(forward, np.ufunc):
        return forward.signature is None
    return kind == "elementwise" or getattr(forward, "__module__", None) == operator.add.__module__


def _signature(forward: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Operand names (positional, without default) and parameters (the rest) of a forward."""
    if isinstance(forward, np.ufunc):
        return ("x", "y")[: forward.nin], {}
    taken = arguments_of(forward)
    if getattr(forward, "__module__", None) == operator.add.__module__:
        return ("x", "y")[: len(taken.positional)], {}
    params = {name: None if default is NO_DEFAULT else default for name, default in taken.keywords.items()}
    return taken.positional if taken.starred is None else (*taken.positional, "xs"), params


def elementwise(name: str, forward: Callable[..., Any], *rules: Callable[..., Any] | None, **facts: Any) -> Op:
    """Declare an op that works element by element and broadcasts.

    Each rule is a partial derivative ∂z/∂xᵢ, a function of the operands and ``z``; a rule that
    takes ``g`` returns the finished product instead (``where`` must not multiply by zero).
    VJP, JVP, broadcasting, kernels and what must be saved follow from the partials.
    """
    return Op(name, "elementwise", forward, rules, **facts)


def linear(name: str, forward: Callable[..., Any], *transposes: Callable[..., Any] | None, **facts: Any) -> Op:
    """Declare an op that is jointly linear in the operands that have a transpose.

    A transpose takes ``g`` and returns the adjoint of its operand; the JVP is the op itself.
    """
    return Op(name, "linear", forward, transposes, **facts)


def general(name: str, forward: Callable[..., Any], *vjps: Callable[..., Any] | None, **facts: Any) -> Op:
    """Declare an op by its vjps and a ``jvp`` (left out for an op that is linear in each operand).

    ``joint=`` gives one vjp for all operands in place of one each, where they share most of their work.
    """
    return Op(name, "general", forward, vjps, **facts)


def composite(name: str, forward: Callable[..., Any], **facts: Any) -> Op:
    """Declare a function that is made of other ops and needs no rule of its own.

    It is called with the signature of `forward`, whatever that is (sequences of arrays, defaults,
    several results), so ``operands`` and ``params`` are empty.  This is how a NumPy function
    whose signature is not (arrays, *, parameters) gets its rule.
    """
    return Op(name, "composite", forward, (), **facts)


def plain(name: str, forward: Callable[..., Any], **facts: Any) -> Op:
    """Declare an op without derivative: comparisons, logic, argmax, integer arithmetic."""
    return Op(name, "plain", forward, (), **facts)
