"""Ops of your own: declared like the library's, checked when they are declared, and taken away again.

An op that is declared here is a full member of the registry.  Applied to tensors it records; its
rules run within the jitted sweep, under ``create_graph``, in forward mode, under `vmap` and in
`gradcheck`; and ``ops.<name>`` is the op.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import declarations, formula
from .domain import Interval
from .formula import ElementByElement
from .hints import Hints
from .lane import Opaque, Scalar, Via
from .op import REGISTRY, Op
from .scalar_code import Elementwise, named, scalar_code

CHANGES: list[Callable[[Op], None]] = []
"""What is to be told of an op that joins or leaves the registry: whoever keeps something about ops."""

OWN: dict[Op, tuple[Op, ...]] = {}
"""The user's own ops, and for each the ops that were made of its partials."""

Range = Interval | tuple[float, float]


def is_own(op: Op) -> bool:
    """Whether an op, or what it was made from, is the user's."""
    return bool(OWN) and (op in OWN or any(op in made for made in OWN.values()))


def may_raise(op: Op) -> bool:
    """Whether an op raises for some numbers; of users' code nothing is known."""
    return op.hints.raises is not None or (is_own(op) and not isinstance(op.lane, Via))


def elementwise(
    name: str,
    forward: Callable[..., Any],
    *partials: Callable[..., Any] | Op | None,
    domain: Sequence[Range] | None = None,
    doc: str | None = None,
    replace: bool = False,
    **facts: Any,
) -> Op:
    """Declare an op z = f(x, y, …) that works element by element and broadcasts.

    Args:
        name: the op's name, and then its place: ``ops.<name>``.
        forward: computes z.  Its positional arguments are the operands, its keyword-only ones parameters.

            * A formula in ops, operators and NumPy's functions.  It is read once on symbols, so that large
              arrays are computed in one pass in SIMD lanes, and the partials can be left out.
            * A scalar function under ``@numba.njit``, which may loop and branch.
            * Any other function of arrays that broadcasts, or a NumPy ufunc.
        partials: for each operand ∂z/∂x as a function of what its arguments name: operands, ``z``, parameters.
            One that takes ``g`` gives the whole product g ∂z/∂x.  None where z is constant in the operand.  A
            formula (best: every order of derivative follows), an op, which is applied to the operands, or an
            ``@numba.njit`` scalar function, which ends there: it has no derivative itself.
            Left out, they are derived from `forward` if that is a formula.
        domain: for each operand the interval (low, high) where the op is smooth; the declaration tries it there.
        doc: the docstring, if not that of `forward`.
        replace: take the place of an op of your own of that name.
        facts: further attributes of `Op`: ``numpy`` (functions that the op answers for), ``node`` (its name in the
            graph), ``complex``.

    Shapes: operands broadcast; z has the broadcast shape.

    Raises:
        ValueError: for a name that is taken, a wrong number of partials, a forward that is not elementwise.
        TypeError: for what cannot be called, or asks for something that no rule gets.

    >>> import ops, tape
    >>> soft = ops.elementwise("doc_softcap", lambda x, cap: cap * ops.tanh(x / cap), domain=[(-3, 3), (1, 4)])
    >>> x = tape.tensor([0.0, 1.0], requires_grad=True)
    >>> ops.doc_softcap(x, 2.0).sum().backward()
    >>> x.grad
    tensor([1.0000, 0.7864])
    >>> ops.remove("doc_softcap")
    """
    declarations.check_name(name, replace, OWN)
    declarations.check_facts(name, facts)
    code = scalar_code(forward)
    operands, params = arguments = declarations.signature(name, code or forward)
    intervals = declarations.intervals(name, domain, operands)
    evaluate = forward
    if not isinstance(forward, np.ufunc):
        evaluate = ElementByElement(name, Elementwise(code) if code else forward)
    if code is None and not params:
        declarations.try_elementwise(name, evaluate, operands, intervals)
    z = None if code or evaluate is forward else formula.trace(forward, operands, params)
    if partials:
        declarations.check_rules(name, "elementwise", arguments, partials)
    elif z is None:
        raise ValueError(_no_formula(name, operands))
    else:
        partials = tuple(formula.adjoints(z, operands))
    _check_parts(name, operands, partials)
    lane = Scalar(code) if code else Via(forward) if z is not None and not params else Opaque()
    _make_room(name, replace)
    parts: list[Op] = []
    made = Op(
        name, "elementwise", evaluate,
        [_rule(name, x, p, operands, parts) for x, p in zip(operands, partials)],
        lane=lane, hints=Hints(lanes_first=isinstance(lane, Via)), domain=intervals,
        doc=doc or inspect.getdoc(code or forward), **facts,
    )  # fmt: skip
    return _joined(made, parts)


def linear(
    name: str, forward: Callable[..., Any], *transposes: Callable[..., Any] | None,
    doc: str | None = None, replace: bool = False, **facts: Any,
) -> Op:  # fmt: skip
    """Declare an op z = A x that is linear, jointly in all operands that have a transpose.

    Args:
        name: the op's name, and then its place: ``ops.<name>``.
        forward: computes z from arrays.  Positional arguments are operands, keyword-only ones parameters.
        transposes: for each operand x̄ = Aᵀ g, as a function of ``g`` and of what else its arguments name:
            parameters, ``x_shape`` and ``x_dtype`` for an operand ``x``, operands without a transpose.
            Or an op, which is applied to ``g``.  None for an operand that only chooses, such as indices.
        doc: the docstring, if not that of `forward`.
        replace: take the place of an op of your own of that name.
        facts: further attributes of `Op`: ``cases``, ``numpy``, ``node``, ``batch``.

    The derivative along ẋ is the op itself, applied to ẋ.  Write the transposes in ops, so that they can be
    differentiated again; a transpose has the shape of its operand.

    Raises:
        ValueError: for a name that is taken, or a wrong number of transposes.
        TypeError: for what cannot be called, or asks for something that no rule gets.

    >>> import numpy as np, ops, tape
    >>> rolled = ops.linear("doc_rolled", lambda x, *, by: np.roll(x, by), lambda g, by: ops.doc_rolled(g, by=-by))
    >>> x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> ops.doc_rolled(x, by=1)[0].backward()
    >>> x.grad
    tensor([0., 0., 1.])
    >>> ops.remove("doc_rolled")
    """
    declarations.check_name(name, replace, OWN)
    declarations.check_facts(name, facts)
    declarations.check_rules(name, "linear", declarations.signature(name, forward, variadic=True), transposes)
    _make_room(name, replace)
    rules = [RuleByOp(t, ("g",)) if isinstance(t, Op) else t for t in transposes]
    return _joined(Op(name, "linear", forward, rules, doc=doc, lies="as computed", **facts))


def general(
    name: str, forward: Callable[..., Any], *vjps: Callable[..., Any] | None,
    jvp: Callable[..., Any] | None = None, joint: Callable[..., Any] | None = None, outputs: int = 1,
    doc: str | None = None, replace: bool = False, **facts: Any,
) -> Op:  # fmt: skip
    """Declare an op by its vector-Jacobian products, and its Jacobian-vector product for forward mode.

    Args:
        name: the op's name, and then its place: ``ops.<name>``.
        forward: computes the result, or with ``outputs`` other than 1 the tuple of results, from arrays.
            Positional arguments are operands, keyword-only ones parameters; ``*xs`` takes any number of operands.
        vjps: for each operand its adjoint x̄ = Jᵀ g, as a function of what its arguments name: ``g``, operands,
            ``z``, parameters, ``x_shape``, ``x_dtype``; one for all of ``*xs``, which gets ``xs`` and the position
            ``i``.  None for an operand without a derivative.  With several results ``g[k]`` is the adjoint of
            result k, or None.
        jvp: ż as a function of tangents (``x_dot`` for ``x``, ``x_dots`` for ``*xs``, None for what does not move),
            operands, ``z`` and parameters.  Left out, the op counts as linear in each operand by itself, as a
            product is.
        joint: in place of `vjps` one function that gives the adjoints of all operands: a sequence with an
            adjoint or None for each, those at the positions ``wanted`` at least.
        outputs: the number of results, −1 where parameters decide.
        doc: the docstring, if not that of `forward`.
        replace: take the place of an op of your own of that name.
        facts: further attributes of `Op`: ``cases``, ``numpy``, ``node``, ``batch``.

    Raises:
        ValueError: for a name that is taken, or a wrong number of rules.
        TypeError: for what cannot be called, or asks for something that no rule gets.

    >>> import numpy as np, ops, tape
    >>> def logsum(x):
    ...     return np.log(np.exp(x).sum())
    >>> soft = ops.general(
    ...     "doc_logsum", logsum, lambda g, x, z: g * ops.exp(x - z),
    ...     jvp=lambda x, z, x_dot: ops.sum(ops.exp(x - z) * x_dot),
    ... )
    >>> x = tape.zeros(4, requires_grad=True)
    >>> ops.doc_logsum(x).backward()
    >>> x.grad
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    >>> ops.remove("doc_logsum")
    """
    declarations.check_name(name, replace, OWN)
    declarations.check_facts(name, facts)
    declarations.check_rules(name, "general", declarations.signature(name, forward, variadic=True), vjps, jvp, joint)
    _make_room(name, replace)
    return _joined(
        Op(name, "general", forward, vjps, jvp=jvp, joint=joint, outputs=outputs, doc=doc, lies="as computed", **facts)
    )


def remove(name: str) -> None:
    """Take an op of your own out of the registry again, and free its kernels.

    What was recorded with it keeps its rules, and can still be differentiated.

    Raises:
        KeyError: if there is no op of that name.
        ValueError: for an op of the library.
    """
    op = REGISTRY.get(name)
    if op is None:
        raise KeyError(f"there is no op named {name!r} to remove")
    if op not in OWN:
        whole = next((whole.name for whole, parts in OWN.items() if op in parts), None)
        what = f"was made of a partial of {whole}; remove that" if whole else "is an op of the library, others need it"
        raise ValueError(f"{name!r} {what}")
    for gone in (*OWN[op], op):
        OWN.pop(gone, None)
        REGISTRY.pop(gone.name, None)
        for tell in CHANGES:
            tell(gone)


def _check_parts(name: str, operands: tuple[str, ...], partials: Sequence[Any]) -> None:
    """Raise if the name of an op that will be made of a partial is taken, unless that goes with a replaced op."""
    old = OWN.get(REGISTRY[name], ()) if name in REGISTRY else ()
    for x, partial in zip(operands, partials):
        if scalar_code(partial) and REGISTRY.get(part_name(name, x)) not in old:
            declarations.check_name(part_name(name, x), False, OWN)


def part_name(name: str, x: str) -> str:
    """The name of the op that is made of the partial with respect to an operand."""
    return f"{name}_d{x}"


def _make_room(name: str, replace: bool) -> None:
    if replace and name in REGISTRY:
        remove(name)


def _joined(op: Op, parts: Sequence[Op] = ()) -> Op:
    """An op that has joined the registry, with the ops that were made of its partials."""
    OWN[op] = tuple(parts)
    for tell in CHANGES:
        tell(op)
    return op


def _no_formula(name: str, operands: tuple[str, ...]) -> str:
    return (
        f"the partials of {name} cannot be derived, because its forward is no formula that symbols can be put through: "
        "it does something else than apply elementwise ops, operators and NumPy's functions to operands and numbers.\n"
        f"Give a partial for each operand ({', '.join(operands)}), None where it is constant."
    )


def _rule(name: str, x: str, partial: Any, operands: tuple[str, ...], parts: list[Op]) -> Any:
    """A partial as a rule.  An op is applied to the operands; scalar code becomes an op, applied to what it reads."""
    if isinstance(partial, Op):
        return RuleByOp(partial, operands[: partial.arity])
    code = scalar_code(partial)
    if code is None:
        return partial
    names = tuple(inspect.signature(code).parameters)
    part = part_name(name, x)
    evaluate = ElementByElement(part, Elementwise(code, [f"x{k}" for k in range(len(names))]))
    ends = [_end(name, x)] * len(names)
    parts.append(Op(part, "elementwise", evaluate, ends, lane=Scalar(code), doc=f"∂z/∂{x} of {name}."))
    return RuleByOp(parts[-1], names)


class RuleByOp:
    """A rule that applies an op to the values of these names."""

    def __init__(self, op: Op, names: tuple[str, ...]):
        self.op = op
        self.__signature__ = named(names)

    def __call__(self, *values: Any) -> Any:
        return self.op(*values)


def _end(name: str, x: str) -> Callable[[Any], Any]:
    """The partials of a partial that is scalar code."""

    def end(g: Any) -> Any:
        raise RuntimeError(
            f"the partial of {name} with respect to {x} is compiled scalar code, which has no derivative of its own, "
            f"so {name} can be differentiated once only.\nGive that partial as a formula, or as an op with partials: "
            f"ops.elementwise('{name}_d{x}', …)."
        )

    return end
