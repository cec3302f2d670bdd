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
from typing import Any

import numpy as np

from .arguments import NO_DEFAULT, argument_names, arguments_of
from .domain import Truth
from .rule import Rule

__all__ = [
    "ADJOINT", "HOLOMORPHIC", "REGISTRY", "Op", "composite", "conjugate", "elementwise", "general", "in_dtype",
    "is_complex", "linear", "plain", "ready", "shape_of",
]

HOLOMORPHIC, ADJOINT = "holomorphic", "adjoint"
"""What the rules of an op mean for complex numbers.

The adjoint of x is x̄ = ∂L/∂a + i ∂L/∂b for x = a + ib, so that ⟨g, ż⟩ = ⟨x̄, ẋ⟩ with ⟨u, v⟩ = Re Σ conj(u) v.

* ``HOLOMORPHIC``: the op is complex differentiable, and its rules are written as for real numbers:
  x̄ = g conj(∂z/∂x), and conj(vjp(conj(g))) for a rule that takes ``g``; `Op` does the conjugating.
* ``ADJOINT``: the rules give x̄ itself.  A partial of an elementwise op whose result is real is the gradient
  p = ∂z/∂a + i ∂z/∂b, so x̄ = g p and ż = Re(conj(p) ẋ).

A rule of an elementwise op that takes ``g`` gives the finished x̄ in either case.  Where an operand is real,
`in_dtype` takes the real part.
"""

REGISTRY: dict[str, Op] = {}
"""Every op by name, in the order of declaration."""

OPS: list[Op] = []
"""Every op that was ever declared, by code: records may outlive the place of their op in the registry."""


def answers() -> dict[Any, Op]:
    """The op that answers for each of NumPy's functions: a composite, where one stands before the op that it calls."""
    composites_last = sorted(REGISTRY.values(), key=lambda op: op.kind == "composite")
    return {function: op for op in composites_last for function in op.numpy}


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, of whatever stands for one, or of a number."""
    try:
        return x.shape
    except AttributeError:
        return np.shape(x)


def ready(x: Any) -> Any:
    """The argument of a composite as something with a shape and a dtype: lists become arrays."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def is_complex(x: Any) -> bool:
    """Whether an array, whatever stands for one, or a number is complex."""
    dtype = getattr(x, "dtype", None)
    return type(x) is complex if dtype is None else dtype.kind == "c"


def conjugate(x: Any) -> Any:
    """The conjugate of complex numbers; real ones as they are."""
    return REGISTRY["conj"](x) if is_complex(x) else x


def in_dtype(bar: Any, dtype: Any) -> Any:
    """An adjoint or tangent in the dtype of what it belongs to: the real part where that is real."""
    if bar.dtype == dtype:
        return bar
    if bar.dtype.kind == "c" and dtype.kind != "c":
        bar = REGISTRY["real"](bar)
    return bar if bar.dtype == dtype else REGISTRY["cast"](bar, dtype=dtype)


def _at_rest(z: Any) -> Any:
    """The tangent of a result, or of several, that operands without elements cannot move."""
    if isinstance(z, tuple):
        return tuple(map(_at_rest, z))
    return REGISTRY["zeros_like"](z) if z.dtype.kind in "fc" else None


class Op:
    """A primitive operation: its forward function, its rules, and what is known about it.

    Attributes:
        name: unique name, also that of the public function.
        kind: ``"elementwise"``, ``"linear"``, ``"general"``, ``"plain"`` (no derivative) or
            ``"composite"`` (made of other ops, which record themselves).
        forward: evaluates the op on NumPy arrays.
        operands: names of the array arguments; a variadic op has one, ``"xs"``.
        params: names of the other arguments, with their defaults.
        rules: per operand, its `Rule`, or None where the op is constant in that operand.
        joint: one `Rule` for all operands together, in place of `rules`: it gives a sequence with an
            adjoint, or None, for each operand, and is run once for those that are `wanted`.
        lane: how a SIMD kernel computes the op (see `ops.core.lane`), or None.
        lanes_first: whether large arrays are evaluated in lanes, because NumPy's own loop is scalar.
        motion: how the jitted sweep moves the adjoint of a linear op without calling its rule:
            ``"spread"`` (x̄ += g everywhere), ``"average"`` (x̄ += g / n everywhere), ``"same"``
            (x̄ += g in the same order), ``"block"`` (x̄[i] += g for the op's one integer parameter),
            ``"matrix"`` (x̄ += g yᵀ and ȳ += xᵀ g, where the matrices are small).
        numpy: the NumPy functions that the op answers for.
        scipy: names of the functions in `scipy.special` that the op answers for; a forward that is one brings its own.
        symbol: the Python operator it implements, such as ``"mul"`` for ``__mul__``.
        domain: per operand, the `ops.domain.Interval` where it is smooth (elementwise ops).
        chooses: positions of the operands that are truth values (elementwise ops).
        cases: ``cases(rng)`` yields ``(operands, params)`` for the property tests (other ops).
        symmetric: whether the op takes its operand to be a symmetric matrix; its adjoint is one.
        view: whether the result is another look at the operand's memory; a function of the parameters
            where they decide.
        part: a function of the parameters that it names: the indices, one applied after the other, of the part of its
            operand that the op reads, so that x̄[part] += g; of an op with two operands, of the part of the first that
            it puts the second into, so that x̄ is g with zeros there and ȳ = g[part].  None where it does neither.
        reduces, accumulates: the binary NumPy function of which the op is the ``reduce`` or ``accumulate``.
        broadcasts: whether it works element by element, by declaration or because NumPy's function does.
        batch: how the op applies to a whole batch (see `ops.core.batching`), where that does not follow from its kind.
        complex: what its rules mean for complex numbers, `HOLOMORPHIC` or `ADJOINT` (that of linear ops unless they
            say otherwise); True where there are no rules; None where the op has no meaning for complex numbers.
        neutral: by position of an operand, the number there that gives the other operand back: x·1, x − 0.
            For floating-point numbers of x + 0 that is −0.0, for −0.0 + 0.0 is 0.0.
        decides: by position of an operand (the first or the second) and truth value there, the position of the operand
            that the op gives then, whatever the others are: where(False, x, y) is y.
        involution: whether applying the op twice gives the operand back.
        outputs: number of results, −1 where the parameters decide; unless it is 1 the forward
            gives a tuple and ``g`` is a `Bundle`.
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
        lanes_first: bool = False,
        motion: str | None = None,
        domain: Any = None,
        cases: Callable[..., Any] | None = None,
        doc: str | None = None,
        outputs: int = 1,
        symmetric: bool = False,
        view: bool | Callable[..., bool] = False,
        part: Callable[..., Any] | None = None,
        reduces: Any = None,
        accumulates: Any = None,
        neutral: dict[int, float] | None = None,
        decides: dict[tuple[int, bool], int] | None = None,
        involution: bool = False,
        complex: str | bool | None = None,
        batch: Callable[[Any], Any] | None = None,
    ):
        self.name = self.__name__ = self.__qualname__ = name
        self.kind = kind
        self.forward = forward
        self.operands, self.params = ((), {}) if kind == "composite" else _signature(forward)
        self.variadic = self.operands == ("xs",)
        self.rules = tuple(r and Rule(r, kind == "elementwise") for r in rules)
        self.joint = joint and Rule(joint, False)
        self.jvp_rule = jvp
        self.numpy = (forward, *numpy) if isinstance(forward, np.ufunc) else tuple(numpy)
        self.scipy = (*getattr(forward, "scipy", ()), *scipy)
        self.symbol = symbol
        self.node = node
        self.lane = lane
        self.lanes_first = lanes_first
        self.motion = motion
        self.domain = domain
        self.chooses = frozenset(i for i, interval in enumerate(domain or ()) if isinstance(interval, Truth))
        self.cases = cases
        self.outputs = outputs
        self.symmetric = symmetric
        self.view = view
        self.part = part
        self.reduces = reduces
        self.accumulates = accumulates
        self.neutral = neutral or {}
        self.decides = decides or {}
        self.involution = involution
        self.complex = ADJOINT if complex is None and kind == "linear" else complex
        self.batch = batch
        self.broadcasts = batch is None and _is_elementwise(kind, forward)
        self.__doc__ = doc or inspect.getdoc(forward)
        self.__module__ = "ops"
        if name in REGISTRY:
            raise ValueError(f"an op named {name!r} is declared already; choose another name")
        self.code = len(OPS)
        OPS.append(self)
        REGISTRY[name] = self

    @property
    def arity(self) -> int:
        return -1 if self.variadic else len(self.operands)

    @property
    def differentiable(self) -> bool:
        return self.joint is not None or any(self.rules)

    def rule(self, i: int) -> Rule | None:
        """The rule with respect to operand ``i``."""
        if self.joint is not None:
            return self.joint
        return self.rules[0 if self.variadic else i] if self.rules else None

    def needs(self, wanted: Sequence[int]) -> set[str]:
        """Names of the values that the vjps of the `wanted` operands read."""
        rules = [self.rule(i) for i in wanted]
        return {name for rule in rules if rule for name in rule.names}

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply the op: whoever traces one of the operands decides, else NumPy does."""
        if self.kind == "composite":
            return self.forward(*operands, **params)
        found = None
        for operand in operands:
            bind = getattr(type(operand), "__bind__", None)
            if bind is not None:
                if hasattr(bind, "is_face"):
                    return bind(self, operands, params)
                found = found or bind
        return self.forward(*operands, **params) if found is None else found(self, operands, params)

    def environment(self, operands: Sequence[Any], z: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The names a rule may ask for, bound to values (`vjp` and `jvp` add their own)."""
        env = {"z": z, **self.params, **params}
        if self.variadic:
            env["xs"] = tuple(operands)
        else:
            env.update(zip(self.operands, operands))
        return env

    def promoted(self, operands: Sequence[Any], dtype: Any) -> tuple[Any, ...]:
        """Operands of an elementwise op in the dtype of its result, which is the one that its rules compute in.

        A partial of int8 numbers would be computed, and wrap around, in int8; one of float32 numbers beside
        float64 ones would lose half of the digits that the result has.  Plain numbers, and the operands
        that choose, stay what they are.
        """
        return tuple([
            x if i in self.chooses or getattr(x, "dtype", dtype) == dtype else self._widened(x, dtype)
            for i, x in enumerate(operands)
        ])  # fmt: skip

    @staticmethod
    def _widened(x: Any, dtype: Any) -> Any:
        """An operand in a dtype, unless that is real and the operand complex (as for abs)."""
        return x if dtype.kind != "c" and x.dtype.kind == "c" else REGISTRY["cast"](x, dtype=dtype)

    def vjp(self, i: int, g: Any, env: dict[str, Any], shape: tuple[int, ...], dtype: Any = None) -> Any:
        """Contribution of this op to the adjoint of operand ``i``, of that shape and dtype.

        `env` comes from `environment`; what only this operand's rule asks for is added to it.
        """
        if self.joint is not None:
            return self.vjps((i,), g, env)[i]
        rule = self.rule(i)
        if rule is None:
            return None
        if 0 in shape and self.kind == "general":
            return self._of_nothing(g, shape)
        name = "x" if self.variadic else self.operands[i]
        env["g"], env[name + "_shape"], env[name + "_dtype"] = g, shape, dtype
        if self.variadic:
            env["i"] = i
        turned = self.complex is HOLOMORPHIC and is_complex(g)
        if self.kind != "elementwise":
            return self._turned(rule, env) if turned else rule(env)
        bar = rule(env)
        if rule.is_partial and type(bar) is float and bar == 0.0:
            bar = REGISTRY["zeros_like"](g)
        elif rule.is_partial:
            bar = REGISTRY["chain_mul"](g, conjugate(bar) if turned else bar)
        return bar if shape_of(bar) == shape else REGISTRY["sum_to"](bar, shape=shape)

    @staticmethod
    def _of_nothing(g: Any, shape: tuple[int, ...]) -> Any:
        """The adjoint of an operand without elements, which no rule has to think of; g may be a `Bundle`."""
        part = next(iter(g.parts.values())) if hasattr(g, "parts") else g
        return REGISTRY["broadcast_to"](REGISTRY["sum"](part) * 0.0, shape=shape)

    @staticmethod
    def _turned(rule: Rule, env: dict[str, Any]) -> Any:
        """The adjoint from a rule that is written as for real numbers: x̄ = conj(vjp(conj(g)))."""
        bar = rule({**env, "g": conjugate(env["g"])})
        return None if bar is None else conjugate(bar)

    def vjps(self, wanted: tuple[int, ...], g: Any, env: dict[str, Any]) -> Sequence[Any]:
        """Contributions to the adjoints of all operands (those `wanted` at least), of an op with a joint rule."""
        assert self.joint is not None
        env["g"], env["wanted"] = g, wanted
        return self.joint(env)

    def jvp(self, operands: Sequence[Any], tangents: Sequence[Any], z: Any, params: dict[str, Any]) -> Any:
        """Directional derivative of the result along `tangents` (None where there is none)."""
        if self.kind == "linear":
            rows = [
                np.zeros(shape_of(x), getattr(x, "dtype", None)) if t is None else t for x, t in zip(operands, tangents)
            ]
            linear_in = [self.rule(i) is not None for i in range(len(operands))]
            return self(*(t if d else x for x, t, d in zip(operands, rows, linear_in)), **params)
        if self.kind == "elementwise":
            operands = self.promoted(operands, z.dtype)
        if self.kind == "general" and all(t is None or 0 in t.shape for t in tangents):
            return _at_rest(z)
        env = self.environment(operands, z, params)
        if self.jvp_rule is not None:
            names = argument_names(self.jvp_rule)
            if self.variadic:
                env["x_dots"] = tuple(tangents)
            else:
                env.update({f"{n}_dot": t for n, t in zip(self.operands, tangents)})
            return self.jvp_rule(**{n: env[n] for n in names})
        return self._sum_of_parts(operands, tangents, env, params)

    def _sum_of_parts(self, operands, tangents, env, params):  # type: ignore[no-untyped-def]
        """Σᵢ ∂z/∂xᵢ ẋᵢ: elementwise through the rules, multilinear by putting ẋᵢ in place of xᵢ."""
        total = None
        for i, t in enumerate(tangents):
            rule = self.rule(i)
            if t is None or rule is None:
                continue
            if self.kind == "elementwise":
                part = self._pushed(rule, t, env) if rule.is_partial else rule({**env, "g": t, "i": i})
                part = REGISTRY["real"](part) if is_complex(part) and not is_complex(env["z"]) else part
            else:
                part = self(*(t if k == i else x for k, x in enumerate(operands)), **params)
            total = part if total is None else total + part
        return total

    @staticmethod
    def _pushed(rule: Rule, t: Any, env: dict[str, Any]) -> Any:
        """ẋ ∂z/∂x, or Re(conj(p) ẋ) where complex numbers give real ones (see `ADJOINT`)."""
        partial = rule(env)
        if is_complex(t) and not is_complex(env["z"]):
            return REGISTRY["real"](REGISTRY["chain_mul"](t, conjugate(partial)))
        return REGISTRY["chain_mul"](t, partial)

    def title(self, params: dict[str, Any]) -> str:
        """What to call an application of the op in a message: its name, or that of the function it stands for."""
        return self.name if self.name != "custom" else self.node_name(params).removesuffix("Backward")

    def node_name(self, params: dict[str, Any]) -> str:
        """Name of the op's node in the graph, as PyTorch spells it: ``MulBackward0``."""
        if callable(self.node):
            return self._ask(self.node, params)
        return self.node or "".join(p.capitalize() for p in self.name.split("_")) + "Backward0"

    def is_view(self, params: dict[str, Any]) -> bool:
        """Whether an application of the op gives another look at its operand's memory."""
        return self._ask(self.view, params) if callable(self.view) else self.view

    def part_of(self, params: dict[str, Any]) -> tuple[Any, ...] | None:
        """The indices of the part that an application reads or writes (see `part`), None if there is none."""
        return None if self.part is None else self._ask(self.part, params)

    def _ask(self, fact: Callable[..., Any], params: dict[str, Any]) -> Any:
        """A fact that depends on the parameters it names."""
        return fact(**{n: params[n] if n in params else self.params[n] for n in argument_names(fact)})

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> str:
        return self.name


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
