"""What a declaration of one's own must satisfy: found out when it is made, not in somebody's backward."""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from .domain import REAL, Interval, Truth
from .op import REGISTRY, Op
from .scalar_code import scalar_code

RESERVED = frozenset({"g", "i", "out", "wanted", "xs", "z"})
FACTS = frozenset({"batch", "cases", "complex", "node", "numpy", "scipy", "symmetric"})
"""Attributes of `Op` that a declaration of one's own may give beside the arguments it names."""


def check_name(name: Any, replace: bool, own: Container[Op]) -> None:
    """Raise unless an op may have this name."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise ValueError(f"an op's name must be a public identifier, because ops.<name> is the op; got {name!r}")
    if name in REGISTRY and REGISTRY[name] not in own:
        raise ValueError(f"{name!r} is an op that others depend on; choose another name")
    if name in REGISTRY and not replace:
        raise ValueError(
            f"an op named {name!r} is declared already.\nPass replace=True to declare it anew, take it away with "
            f"ops.remove({name!r}), or choose another name."
        )
    if name not in REGISTRY and hasattr(sys.modules[__package__.partition(".")[0]], name):
        raise ValueError(f"ops.{name} is something else already; choose another name")


def check_facts(name: str, facts: Iterable[str]) -> None:
    """Raise for an argument that no declaration takes."""
    for fact in facts:
        if fact not in FACTS:
            raise TypeError(
                f"the declaration of {name} has no argument {fact!r}; beside those it names it takes "
                f"{', '.join(sorted(FACTS))}"
            )


def signature(name: str, forward: Any, *, variadic: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a forward's operands and parameters.

    Raises:
        TypeError: if it cannot be called, or has arguments that are neither.
    """
    if isinstance(forward, np.ufunc):
        return _ufunc_operands(name, forward), ()
    if not callable(forward):
        raise TypeError(f"the forward of {name} must be a function of arrays; got {type(forward).__name__}")
    operands: list[str] = []
    params: list[str] = []
    for argument in inspect.signature(forward).parameters.values():
        _check_argument(name, argument, variadic)
        (params if argument.kind is argument.KEYWORD_ONLY else operands).append(argument.name)
    if not operands:
        raise TypeError(f"the forward of {name} takes no operand; its positional arguments are the arrays it works on")
    if variadic and len(operands) > 1 and "xs" in operands:
        raise TypeError(f"the forward of {name} must take either operands by name or *xs, not both")
    return tuple(operands), tuple(params)


def _ufunc_operands(name: str, ufunc: np.ufunc) -> tuple[str, ...]:
    if ufunc.nin > 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise TypeError(
            f"the ufunc {ufunc.__name__} has {ufunc.nin} operands and {ufunc.nout} results; {name} can take one of one "
            "or two operands and one result.\nWrap it in a function that names its operands: lambda x, y, w: …."
        )
    return ("x", "y")[: ufunc.nin]


def _check_argument(name: str, argument: inspect.Parameter, variadic: bool) -> None:
    """Raise unless an argument of a forward can be told to be an operand or a parameter."""
    if argument.kind is argument.VAR_KEYWORD or (argument.kind is argument.VAR_POSITIONAL and not variadic):
        raise TypeError(f"the forward of {name} must name its arguments; {argument} takes any number of them")
    if argument.kind is argument.VAR_POSITIONAL:
        if argument.name != "xs":
            raise TypeError(f"any number of operands are called *xs; the forward of {name} says *{argument.name}")
        return
    if argument.name in RESERVED:
        raise TypeError(
            f"the forward of {name} has an argument {argument.name!r}, a name that means something else in rules "
            f"({', '.join(sorted(RESERVED))}); choose another"
        )
    if argument.kind is not argument.KEYWORD_ONLY and argument.default is not argument.empty:
        raise TypeError(
            f"the argument {argument.name!r} of the forward of {name} is positional, so it is an operand, and has a "
            f"default.\nMake it a parameter by putting a * before it: def f(x, *, {argument})."
        )


def intervals(name: str, domain: Any, operands: tuple[str, ...]) -> tuple[Any, ...]:
    """The domain as an interval for each operand.

    Raises:
        ValueError: if there is not one for each.
    """
    if domain is None:
        return (REAL,) * len(operands)
    found = tuple([d if isinstance(d, (Interval, Truth)) else Interval(float(d[0]), float(d[1])) for d in domain])
    if len(found) != len(operands):
        raise ValueError(
            f"the domain of {name} needs an interval (low, high) for each of its {len(operands)} operands "
            f"({', '.join(operands)}); got {len(found)}"
        )
    return found


def try_elementwise(name: str, forward: Any, operands: tuple[str, ...], domain: Sequence[Any]) -> None:
    """Raise unless a forward broadcasts, and gives for each element what it gives for that element alone."""
    rng = np.random.default_rng(0)
    shapes = [(2, 3)] if len(operands) == 1 else [(2, 1), (1, 3), (3,)]
    values = [interval.fit(rng.random(shapes[k % len(shapes)])) for k, interval in enumerate(domain)]
    with np.errstate(all="ignore"):
        z = _tried(name, forward, values)
        if z.dtype.kind not in "fc":
            raise ValueError(f"the forward of {name} must give floating-point numbers; of float64 it gave {z.dtype}")
        parts = np.broadcast_arrays(*values)
        alone = [_tried(name, forward, [np.float64(p[k]) for p in parts]) for k in np.ndindex(z.shape)]
    if not np.allclose(np.ravel(z), alone, rtol=1e-6, atol=1e-12, equal_nan=True):
        raise ValueError(
            f"{name} is not elementwise: its forward gives other numbers for an array than for its elements one by one."
            "\nDeclare it with ops.linear or ops.general."
        )


def _tried(name: str, forward: Any, values: Sequence[Any]) -> Any:
    try:
        return forward(*values)
    except Exception as error:
        shapes = ", ".join(str(np.shape(v)) for v in values)
        raise ValueError(
            f"the forward of {name} must work on arrays that broadcast; on float64 of shapes {shapes} it raised "
            f"{type(error).__name__}: {error}\nIf it branches on a value, choose with ops.where, or make it a scalar "
            "function with @numba.njit."
        ) from error


def check_rules(
    name: str,
    kind: str,
    arguments: tuple[tuple[str, ...], tuple[str, ...]],
    rules: Sequence[Any],
    jvp: Any = None,
    joint: Any = None,
) -> None:
    """Raise unless there is a rule for each operand, and each asks for nothing but what it will get."""
    operands, params = arguments
    word = {"elementwise": "partial", "linear": "transpose", "general": "vjp"}[kind]
    if joint is not None:
        if rules:
            raise ValueError(f"{name} has vjps and a joint one; a joint vjp stands for all of them")
        _check_rule(name, "the joint vjp", joint, {"g", "z", "wanted", *operands, *params})
    elif len(rules) != len(operands) or not any(rules):
        raise ValueError(
            f"{name} needs one {word} for each of its operands ({', '.join(operands)}), None where it is constant, and "
            f"not only None; got {len(rules)}"
        )
    for x, rule in zip(operands, rules):
        if isinstance(rule, Op) and kind != "general":
            check_applies(name, f"the {word} of {x}", rule, operands if kind == "elementwise" else ("g",))
        elif rule is not None:
            _check_rule(name, f"the {word} of {x}", rule, _offered(kind, x, arguments, rules))
    if jvp is not None:
        dots = {"x_dots"} if operands == ("xs",) else {f"{x}_dot" for x in operands}
        _check_rule(name, "the jvp", jvp, {"z", *operands, *params, *dots})


def _offered(kind: str, x: str, arguments: tuple[tuple[str, ...], tuple[str, ...]], rules: Sequence[Any]) -> set[str]:
    """What a rule may ask for."""
    operands, params = arguments
    if kind == "elementwise":
        return {"g", "z", *operands, *params}
    if operands == ("xs",):
        return {"g", "i", "xs", "z", "x_shape", "x_dtype", *params} - ({"z"} if kind == "linear" else set())
    about = {"g", f"{x}_shape", f"{x}_dtype", *params}
    if kind == "linear":  # what depends on an operand is not linear in it
        return about | {y for y, rule in zip(operands, rules) if rule is None}
    return about | {"z", *operands}


def check_applies(name: str, what: str, op: Op, names: tuple[str, ...]) -> None:
    """Raise unless an op can be applied to the values of these names, or the first of them."""
    if not 1 <= op.arity <= len(names) or op.outputs != 1:
        raise TypeError(
            f"{what} in {name} is the op {op.name}, which takes {op.arity} operands; it would be applied to "
            f"{', '.join(names)}.\nSay how it is applied: lambda {', '.join(names)}: ops.{op.name}(…)."
        )


def _check_rule(name: str, what: str, rule: Any, offered: set[str]) -> None:
    function = scalar_code(rule) or rule
    if not callable(function):
        raise TypeError(f"{what} in {name} must be a function, an op or None; got {type(rule).__name__}")
    for argument in inspect.signature(function).parameters.values():
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD, argument.KEYWORD_ONLY):
            raise TypeError(f"{what} in {name} must name what it needs as positional arguments; it has {argument}")
        if argument.name not in offered:
            raise TypeError(
                f"{what} in {name} asks for {argument.name!r}; it can ask for {', '.join(sorted(offered))}"
            )
    if function is not rule and "g" in inspect.signature(function).parameters:
        raise TypeError(f"{what} in {name} is compiled scalar code, which gives ∂z/∂x itself; leave out the argument g")
