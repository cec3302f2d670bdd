"""What `help` shows of an op: its derivative as a formula, and an example.

The partials of an elementwise op are read on symbols alone.  A rule that asks for shapes or parameters is read on the
first of the inputs that the op declares for its tests, with symbols that know their value.  The example is made from
these inputs too, and run when it is shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from itertools import islice
from typing import Any
from unicodedata import normalize

import numpy as np

from ops import Op, Symbol
from ops.core.differentiate import Rule

from ..base.rooms import opened
from ..base.signatures import words_of
from ..base.tensor import Tensor
from ..program.show.text import SIGNS, short
from ..recording.functions import SPELLINGS

LONGEST = 110
"""Formulas with more letters are left out: a sum over a page tells less than the op's name."""
PLAIN = frozenset({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0})
WRITTEN_AS = {"chain_mul": "mul", "general_power": "pow", "power_of_number": "pow"}
"""By the name of an op without a symbol, that of the operator which stands for it."""
TIGHT = {"pow": 4, "neg": 3, "mul": 2, "truediv": 2, "floordiv": 2, "mod": 2, "matmul": 2, "add": 1, "sub": 1}
"""How tightly the operators bind."""


class Known(Symbol):
    """A symbol with a value: rules may ask for its shape and dtype, and their ops for more than symbols carry."""

    __slots__ = ("params", "value")

    def __init__(self, name: str, value: Any, op: Op | None = None, operands: tuple[Any, ...] = (), params: Any = None):
        super().__init__(name, op, operands)
        self.value, self.params = np.asarray(value), params or {}

    @staticmethod
    def __bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        value = op.forward(*(x.value if isinstance(x, Known) else x for x in operands), **params)
        return Known(op.name, value, op, operands, params)

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim", "dtype", "size"):
            return getattr(self.value, name)
        raise AttributeError(name)


def derivative(op: Op, words: Sequence[str]) -> str:
    """The derivatives by each operand, which the function calls by these words."""
    if op.kind == "composite":
        return "Derivative: through the functions that it is made of."
    if not op.differentiable:
        return "No derivative: it gives truth values, whole numbers or constants."
    linear = "Linear: the derivative is the function itself." if op.kind == "linear" else ""
    lines = [line for i, x in enumerate(op.operands) if (line := _line(op, i, x))]
    if not lines:
        return linear or "Derivative: by a rule of its own, which is longer than a line."
    called = [f"{x} for {word}" for x, word in zip(op.operands, words) if x != word]
    adjoint = [] if all(line.startswith("∂") for line in lines) else ["g for its adjoint"]
    meaning = ", ".join([*called, "z for the result", *adjoint])
    title = f"{linear}  The adjoint, with {meaning}:" if linear else f"Derivative, with {meaning}:"
    return "\n".join([title, "", *(f"    {line}" for line in lines)])


def _line(op: Op, i: int, x: str) -> str:
    rule = None if op.joint is not None else op.rule(i)
    if rule is None:
        return f"∂z/∂{x} = 0" if op.kind == "elementwise" and x not in [op.operands[k] for k in op.chooses] else ""
    try:
        with np.errstate(all="ignore"):
            text = _read(op, rule)
    except Exception:  # a rule may do anything with what it is given
        return ""
    if len(text) > LONGEST:
        return ""
    return normalize("NFC", f"∂z/∂{x} = {text}" if rule.is_partial else f"{x}\u0304 = {text}")


def _read(op: Op, rule: Rule) -> str:
    """What a rule gives of symbols, as text."""
    names = {*op.operands, "z", "g"}
    if names.issuperset(rule.names):
        return _text(rule({name: Symbol(name) for name in names}), {}, None)
    cases = list(op.cases(np.random.default_rng(0))) if op.cases else []
    for operands, params in sorted(cases, key=lambda case: (case[1].get("keepdims", False), -len(case[1]))):
        try:
            return _read_at(op, rule, operands, params)
        except Exception:  # a number of this shape alone
            continue
    raise ValueError("it cannot be read")


def _read_at(op: Op, rule: Rule, operands: Any, params: dict[str, Any]) -> str:
    z = np.asarray(op.forward(*operands, **params))
    env = op.environment([Known(n, v) for n, v in zip(op.operands, operands)], Known("z", z), params)
    env["g"] = Known("g", np.ones(z.shape, z.dtype))
    for name, value in zip(op.operands, operands):
        env[name + "_shape"], env[name + "_dtype"] = np.shape(value), np.asarray(value).dtype
    text = _text(rule(env), {**op.params, **params}, dict(zip(op.operands, operands)))
    if params and ".size" in text:
        raise ValueError("a number of elements along these axes alone")
    read = [f"{k}={short(v)}" for k, v in params.items() if f"{k}={k}" not in text]
    return f"{text}, for {', '.join(read)}" if read else text


Operands = dict[str, Any] | None
"""The operands that a rule was read on by name; None where it was read on symbols alone."""


def _text(node: Any, params: dict[str, Any], given: Operands, outer: int = 0) -> str:
    """An expression as one writes it."""
    if not isinstance(node, Symbol):
        return _number(node, given)
    if node.op is None:
        return node.name
    symbol = WRITTEN_AS.get(node.op.name, node.op.symbol or "")
    own = getattr(node, "params", {})
    if symbol not in TIGHT or own:
        named = [f"{k}={_parameter(k, v, params, given)}" for k, v in own.items() if not _is_default(node.op, k, v)]
        return f"{node.op.name}({', '.join([*(_text(x, params, given) for x in node.operands), *named])})"
    inner = TIGHT[symbol]
    if len(node.operands) == 1:
        text = f"−{_text(node.operands[0], params, given, inner)}"
    else:
        left, right = node.operands
        sign = "−" if symbol == "sub" else SIGNS[symbol]
        text = f"{_text(left, params, given, inner)} {sign} {_text(right, params, given, inner + 1)}"
    return f"({text})" if inner < outer else text


def _is_default(op: Op, name: str, value: Any) -> bool:
    default = op.params.get(name)
    return value is default or (type(value) is type(default) and bool(value == default))


def _parameter(name: str, value: Any, params: dict[str, Any], given: Operands) -> str:
    """A parameter of an op within a rule: the op's own of that name, or the shape of an operand, or its value."""
    if isinstance(value, np.dtype):
        return next((f"{n}.dtype" for n, x in (given or {}).items() if np.asarray(x).dtype == value), "…")
    if name in params and params[name] == value:
        return name
    same = next((f"{n}.shape" for n, x in (given or {}).items() if value == np.shape(x) and value != ()), None)
    return same or (repr(value) if isinstance(value, (bool, str)) else "…")


def _number(x: Any, given: Operands) -> str:
    """A number; one that a rule has made of a shape is known by being none that anybody would write."""
    if isinstance(x, (bool, np.bool_)):
        return str(bool(x))
    if not isinstance(x, (int, float, np.integer, np.floating)):
        raise TypeError("an array in a formula")
    if given is not None and float(x) not in PLAIN:
        return next(f"{n}.size" for n, y in given.items() if np.size(y) == x)
    return f"{float(x):.6g}".replace("-", "−")


LONGEST_EXAMPLE, MOST = 112, 6
"""Letters of a line, and lines of a result, that an example may have."""
VECTOR, MATRIX = [1.0, 2.0, 4.0], [[2.0, 1.0], [1.0, 3.0]]
PLAUSIBLE: Any = (
    (VECTOR,), (MATRIX,), (VECTOR, [0.5, 1.5, 1.0]), (MATRIX, [[1.0, 0.0], [0.5, 1.0]]), (VECTOR, 2), (MATRIX, 2),
    ([VECTOR, VECTOR],), (MATRIX, 0, 1), (VECTOR, [2.0, 1.0, 0.5], [1.0, 1.0, 2.0]), ([True, False, True], VECTOR),
    (MATRIX, 0.5), (1.0, 4.0, 3), ([6, 3],), ([6, 3], [5, 1]),
)  # fmt: skip
"""Arguments for functions that declare no inputs: the first that they take are shown."""


def cases(op: Op) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Operands and parameters from the declaration, rounded so that they can be read."""
    if op.domain:
        at = (np.array([0.3, 0.6, 0.8]), np.array([0.7, 0.55, 0.2]), np.array([0.6, 0.4, 0.9]))
        yield tuple([_rounded(interval.fit(x)) for interval, x in zip(op.domain, at)]), {}
    elif op.cases is not None:
        yield from ((tuple(map(_rounded, xs)), params) for xs, params in op.cases(np.random.default_rng(0)))
    else:
        yield from ((xs, {}) for xs in PLAUSIBLE)


def shapes(op: Op) -> list[str]:
    """Shapes of operands and results in the first of the declared inputs."""
    if op.cases is None:
        return []
    return list(islice((s for xs, params in op.cases(np.random.default_rng(0)) if (s := _shape(op, xs, params))), 3))


def _shape(op: Op, xs: Any, params: dict[str, Any]) -> str:
    try:
        with np.errstate(all="ignore"):
            z = op.forward(*xs, **params)
        given = [f"{k}={v!r}" for k, v in params.items() if k != "index" and len(repr(v)) < 20]
    except Exception:  # parameters that only the list's own machinery passes
        return ""
    results = z if isinstance(z, tuple) else (z,)
    return f"{', '.join([*(str(np.shape(x)) for x in xs), *given])} → {', '.join(str(np.shape(r)) for r in results)}"


def _rounded(x: Any) -> Any:
    x = np.asarray(x)
    return np.round(x, 1 if x.ndim > 1 else 2) + 0.0 if x.dtype.kind in "fc" else x


def example(op: Op, name: str, function: Callable[..., Any]) -> str:
    """A few lines that doctest runs: a call, its result and a gradient; an empty string where no input can be shown."""
    taken = signature(function).parameters
    words = {own: word for own, word in words_of(op, SPELLINGS).items() if word in taken}
    for operands, params in islice(cases(op), 20):
        try:
            with warnings.catch_warnings(), np.errstate(all="warn"):
                warnings.simplefilter("error")
                lines = list(_lines(op, name, operands, {words.get(n, n): v for n, v in params.items()}))
        except Exception:  # it does not take these
            continue
        if max(map(len, lines)) <= LONGEST_EXAMPLE:
            return "\n".join(lines)
    return ""


def _lines(op: Op, name: str, operands: Any, params: dict[str, Any]) -> Iterator[str]:
    tape = opened("tape")
    lists = op.variadic
    named = [f"x{i}" for i in range(len(operands))] if lists else ["x", "y", "w", "u"][: len(operands)]
    given: dict[str, Any] = {"tape": tape}
    yield ">>> import tape"
    called = []
    for letter, x in zip(named, operands):
        if op.domain is None and op.cases is None and not isinstance(x, list):
            called.append(repr(x))
            continue
        source = _source(np.asarray(x).tolist() if not isinstance(x, list) else x, op)
        given[letter] = eval(source, given)
        called.append(letter)
        yield f">>> {letter} = {source}"
    keywords = [f"{word}={_literal(v)}" for word, v in params.items()]
    arguments = [f"[{', '.join(called)}]"] if lists else called
    call = f"tape.{name}({', '.join([*arguments, *keywords])})"
    z = eval(call, given)
    shown = repr(z).splitlines()
    if len(shown) > MOST or "" in shown or "array" in shown[0][:6]:
        raise ValueError("it cannot be shown in a few lines")
    yield f">>> {call}"
    yield from shown
    letter = next((n for n in named if getattr(given.get(n), "requires_grad", False)), named[0])
    x = given.get(letter)
    if isinstance(z, Tensor) and isinstance(x, Tensor) and z.requires_grad and z.dtype.kind == "f":
        eval(call, given).sum().backward()
        if x.grad is not None:
            yield f">>> {call}.sum().backward(); {letter}.grad"
            yield from repr(x.grad).splitlines()


def _source(values: Any, op: Op) -> str:
    """A tensor of some numbers, in the words of Python."""
    kind = np.asarray(values).dtype.kind
    return f"tape.tensor({_literal(values)}{', requires_grad=True' if kind in 'fc' and op.name else ''})"


def _literal(value: Any) -> str:
    text = repr(value)
    if eval(text, {}) != value:
        raise ValueError("it cannot be written in a line")
    return text
