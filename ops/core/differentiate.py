"""Applying an op, and its derivative rules: contributions to adjoints, and the directional derivative.

What rules ask of numbers and their dtypes stands here too, beside what runs them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .arguments import argument_names
from .registry import HOLOMORPHIC, REGISTRY


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, of whatever stands for one, or of a number."""
    try:
        return x.shape
    except AttributeError:
        return np.shape(x)


def dtype_of(wanted: Any) -> np.dtype[Any]:
    """The dtype that somebody asks for; of a class of dtypes (``np.dtypes.Float64DType``) `np.dtype` makes objects."""
    return np.empty(0, wanted).dtype if isinstance(wanted, type) and issubclass(wanted, np.dtype) else np.dtype(wanted)


def ready(x: Any) -> Any:
    """The argument of a composite as something with a shape and a dtype: lists become arrays."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def ready_or_number(x: Any) -> Any:
    """The same, but for a number of Python's, which leaves it to the others what dtype comes out."""
    return x if type(x) in NUMBERS else ready(x)


def joining(x: Any) -> Any:
    """What `np.result_type` takes for an argument: a number of Python's itself, of anything else the dtype."""
    return x if type(x) in NUMBERS else ready(x).dtype


NUMBERS = frozenset({float, int, bool, complex})


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


class Zero(float):
    """What a partial gives where it is 0 whatever its operands' values are: its product depends on no adjoint."""


ZERO = Zero(0.0)


class Rule:
    """One derivative rule with respect to one operand, and the names of the values it reads.

    A partial that is 0 whatever the operands are `is_zero`: its product with an adjoint depends on nothing.  One that
    is so for operands of some kind alone gives `ZERO` for them.
    """

    __slots__ = ("_pick", "call", "is_partial", "is_zero", "names")

    def __init__(self, call: Callable[..., Any], is_partial: bool):
        self.call = call
        self.names = argument_names(call)
        self.is_partial = is_partial and "g" not in self.names
        self.is_zero = self.is_partial and not self.names and call() == 0.0
        self._pick = operator.itemgetter(*self.names) if self.names else None

    def __call__(self, env: dict[str, Any]) -> Any:
        if self._pick is None:
            return self.call()
        picked = self._pick(env)
        return self.call(*picked) if len(self.names) > 1 else self.call(picked)


def _at_rest(z: Any) -> Any:
    """The tangent of a result, or of several, that operands without elements cannot move."""
    if isinstance(z, tuple):
        return tuple(map(_at_rest, z))
    return REGISTRY["zeros_like"](z) if z.dtype.kind in "fc" else None


def chain_product(x: Any, y: Any) -> Any:
    """The product of the chain rule, of an adjoint and a partial: 0 where the adjoint is 0, whatever the partial is."""
    z = x * y
    if np.count_nonzero(x) == np.size(x):
        return z
    return np.where(np.equal(x, 0), np.zeros_like(z), z)[()]


class Derivatives:
    """An op as something to apply and to differentiate; the attributes are those of `ops.core.op.Op`."""

    kind: str
    forward: Callable[..., Any]
    operands: tuple[str, ...]
    arity: int
    params: dict[str, Any]
    variadic: bool
    rules: tuple[Rule | None, ...]
    joint: Rule | None
    jvp_rule: Callable[..., Any] | None
    chooses: frozenset[int]
    complex: str | bool | None
    reads_values: bool

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply the op: whoever traces one of the operands decides, else NumPy does."""
        if self.kind == "composite":
            return self.forward(*operands, **params)
        if self.arity == 1 and len(operands) == 1:
            bind = getattr(type(operands[0]), "__bind__", None)
            return self.forward(operands[0], **params) if bind is None else bind(self, operands, params)
        found, met = None, None
        for operand in operands:
            kind = type(operand)
            if kind is met:
                continue
            bind = getattr(kind, "__bind__", None)
            if bind is not None:
                if hasattr(bind, "is_face"):
                    return bind(self, operands, params)
                found, met = found or bind, kind
        return self.forward(*operands, **params) if found is None else found(self, operands, params)

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

    def contributions(
        self, positions: tuple[int, ...], g: Any, operands: Sequence[Any], z: Any, params: dict[str, Any],
        specs: Mapping[int, Any], dtype: Any, wide: Any = None,
    ) -> list[tuple[int, Any]]:  # fmt: skip
        """What a record of this op adds to the adjoints of its operands at some positions, by position.

        Args:
            operands, z: values that the rules read, of an elementwise op in any dtype; it computes in `dtype`.
            specs: by position, shape and dtype of the operand; None for one that is several results.
            wide: the dtype that contributions of 16 bits are computed in, where that is not their own.
        """
        if self.reads_values:
            operands = self.promoted(operands, dtype) if self.kind == "elementwise" else operands
            env = self.environment(operands, z, params)
        else:
            env = {**self.params, **params}
        bars = self.vjps(positions, g, env) if self.joint is not None and positions else None
        found = []
        for i in positions:
            spec = specs[i]
            if spec is None:
                found.append((i, self.vjp(i, g, env, ())))
                continue
            wanted = wide if wide is not None and spec.narrow else spec.dtype
            bar = bars[i] if bars is not None else self.vjp(i, g, env, spec.shape, wanted)
            if bar is not None:
                found.append((i, bar if bar.dtype == spec.dtype else in_dtype(bar, spec.dtype)))
        return found

    def vjp(self, i: int, g: Any, env: dict[str, Any], shape: tuple[int, ...], dtype: Any = None) -> Any:
        """Contribution of this op to the adjoint of operand ``i``, of that shape and dtype.

        `env` comes from `environment`; what only this operand's rule asks for is added to it.
        """
        if self.joint is not None:
            return self.vjps((i,), g, env)[i]
        rule = self.rules[0 if self.variadic else i] if self.rules else None
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
        if rule.is_zero or type(bar) is Zero:
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
