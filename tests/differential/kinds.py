"""Kinds of statement: each function proposes one that fits the program so far, or None."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from . import indices, pool
from .program import Statement
from .writer import Writer, fills

SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (1, 3), (2, 1, 3), (4,), (3, 3), (0,), (2, 2)]


def new_leaf(w: Writer, requires: bool | None = None) -> Statement:
    shape = w.random.choice(SHAPES)
    dtype = "float32" if w.single and w.chance(0.5) else "float64"
    requires = w.chance(0.6) if requires is None else requires
    (z,) = w.fresh()
    return Statement(f"{z} = leaf({w.random.randrange(1000)}, {shape}, {dtype!r}, {requires})", (), (z,))


def elementwise(w: Writer) -> Statement | None:
    """An elementwise op of the registry, on operands in its domain."""
    op = w.random.choice(pool.elementwise())
    x = w.pick()
    y = w.partner(x) if x and len(op.intervals) == 2 else None
    names = [n for n in (x, y) if n]
    if len(names) < len(op.intervals):
        return None
    (z,) = w.fresh()
    operands = ", ".join(operand(w, n, i) for n, i in zip(names, op.intervals))
    aside = " + 0" if op.keeps_more else ""
    return Statement(f"{z} = torch.{op.name}({operands}){aside}", tuple(names), (z,))


def operand(w: Writer, name: str, interval: Any) -> str:
    """A tensor, squeezed into an interval unless it lies within."""
    if within(w.at(name).detach().numpy(), interval):
        return name
    low = interval.low if not interval.avoid else max(interval.low, interval.avoid[0] + interval.margin)
    return f"into({name}, {low}, {max(interval.high, low)})"


def within(value: np.ndarray, interval: Any) -> bool:
    """Whether an op is smooth at these numbers."""
    inside = bool(((value >= interval.low) & (value <= interval.high)).all())
    return inside and all((np.abs(value - p) >= interval.margin).all() for p in interval.avoid)


def call(w: Writer) -> Statement | None:
    """Another op of the registry, as one of its cases calls it."""
    call = w.random.choice(pool.calls())
    picked = [w.pick(lambda x: x.dtype == torch.float64 and x.numel()) for _ in call.shapes]
    names = [n for n in picked if n]
    if len(names) < len(picked) or (call.chooses and not all(map(w.orderly, names, call.shapes))):
        return None
    operands = [n if w.shape(n) == s else f"fit({n}, {s})" for n, s in zip(names, call.shapes)]
    operands = [f"{x}.clone()" for x in operands] if call.copies else operands
    writes = w.fresh(call.outputs)
    return Statement(f"{', '.join(writes)} = {call.template.format(*operands)}", tuple(names), writes)


def arithmetic(w: Writer) -> Statement | None:
    """Two tensors, or a tensor and a number, by an operator."""
    x = w.pick()
    if x is None:
        return None
    (z,) = w.fresh()
    if w.chance(0.4):
        number = w.random.choice([2, 0.5, -1.5])
        text = w.random.choice(["{x} * {n}", "{n} - {x}", "{x} + {n}", "{x} / {n}", "{x} ** 2"])
        return Statement(f"{z} = {text.format(x=x, n=number)}", (x,), (z,))
    y = w.partner(x)
    return y and Statement(f"{z} = {x} {w.random.choice('+-**')} {y}", (x, y), (z,))  # type: ignore[return-value]


def choice(w: Writer) -> Statement | None:
    """Ops that choose, gather or join elements, in words of their own."""
    x = w.pick(lambda x: x.ndim > 0 and x.numel())
    y = x and w.partner(x)
    if x is None or y is None or not w.clear(x):
        return None
    shape, d = w.shape(x), w.random.randrange(len(w.shape(x)))
    (z,) = w.fresh()
    if w.chance(0.2) and w.distinct(x):
        (i,) = w.fresh()
        text = w.random.choice([f"{x}.sort({d})", f"{x}.max({d})", f"{x}.min({d})", f"{x}.topk(1, {d})"])
        return Statement(f"{z}, {i} = {text}", (x,), (z, i))
    places = f"torch.tensor({[w.random.randrange(shape[d]) for _ in range(3)]})"
    texts = [
        f"torch.where({x} > 0, {x}, {y})", f"torch.clamp({x}, -0.75, 0.75)", f"{x}.masked_fill({x} > 0.5, 2.0)",
        f"{x}.index_select({d}, {places})", f"{x}.sum({d}, keepdim=True)", f"{x}.cumsum({d})", f"{x}.sum()",
        f"{x}.mean()", f"{x}[{x} > 0]", f"{x}.clone()", f"{x}.repeat(2, {', '.join('1' * len(shape))})",
        f"torch.stack([{x}, {x}])", f"torch.cat([{x}, {x} * 2], {d})", f"{x}.softmax({d})", f"{x}.norm()",
    ]  # fmt: skip
    return Statement(f"{z} = {w.random.choice(texts)}", (x, y), (z,))


def view(w: Writer) -> Statement | None:
    x = w.pick()
    if x is None:
        return None
    (z,) = w.fresh()
    if 0 not in (*w.shape(x), len(w.shape(x))) and w.chance(0.15):
        return Statement(f"{z} = {x}[{indices.advanced(w.shape(x), w.random)}]", (x,), (z,))
    return Statement(f"{z} = {indices.views(x, w.shape(x), w.random)}", (x,), (z,))


def part(w: Writer) -> Statement | None:
    """Several views at once."""
    x = w.pick()
    found = indices.many(x, w.shape(x), w.random) if x else None
    if x is None or found is None:
        return None
    text, count = found
    names = w.fresh(count)
    return Statement(f"{', '.join(names)} = {text}", (x,), names)


def in_place(w: Writer) -> Statement | None:
    """A change of a whole tensor."""
    x = w.changeable()
    if x is None:
        return None
    if w.chance(0.4):
        return in_place_op(w, x)
    y = w.partner(x)
    if y is not None and w.apart(x, y) and w.chance(0.7):
        texts = [f"{x} += {y}", f"{x}.mul_({y})", f"{x}.copy_({y})", f"{x} -= {y}", f"{x}.add_({y}, alpha=2)"]
        return Statement(w.random.choice(texts), (x, y), (), (x,))
    texts = [f"{x}.mul_(0.5)", f"{x} += 1.5", f"{x} *= -1", f"{x}.zero_()", f"{x}.fill_(0.25)", f"{x}.sub_(0.5)"]
    return Statement(w.random.choice(texts), (x,), (), (x,))


def passing(w: Writer) -> Statement | None:
    """A change through a view that nothing is recorded of, and that is gone thereafter."""
    x = w.changeable()
    seen = f"{x}.data" if x and not w.at(x).requires_grad and w.chance(0.2) else x
    look = seen and indices.views(seen, w.shape(x), w.random)  # type: ignore[arg-type]
    if x is None or look is None or any(word in look for word in ("reshape", "flatten", "expand")):
        return None  # views of another layout, or into which PyTorch does not write
    change = w.random.choice(["mul_(0.5)", "add_(1.5)", "neg_()", "zero_()", "copy_(u * 2)"])
    return Statement(f"with torch.no_grad():\n    u = {look}\n    u.{change}\n    del u", (x,), (), (x,))


def in_place_op(w: Writer, x: str) -> Statement | None:
    """An elementwise op of the registry, in place."""
    op = w.random.choice([op for op in pool.elementwise() if op.in_place and not op.keeps_more])
    y = w.partner(x) if len(op.intervals) == 2 else None
    if not within(w.at(x).detach().numpy(), op.intervals[0]) or (len(op.intervals) == 2 and y is None):
        return None
    if y is not None and not w.apart(x, y):
        return None
    if y is None:
        return Statement(f"{x}.{op.name}_()", (x,), (), (x,))
    return Statement(f"{x}.{op.name}_({operand(w, y, op.intervals[1])})", (x, y), (), (x,))


def store(w: Writer) -> Statement | None:
    """A change of some elements."""
    x = w.changeable()
    if x is None or 0 in (w.at(x).ndim, w.at(x).numel()):
        return None
    kind = w.random.random()
    if kind < 0.25 and w.clear(x):
        mask = f"{x} > {w.random.choice([0.0, 0.5])}"
        texts = [f"{x}[{mask}] = 0.5", f"{x}.masked_fill_({mask}, -1.0)", f"{x}[{mask}] *= 2.0"]
        return Statement(w.random.choice(texts), (x,), (), (x,))
    index = (indices.basic if kind < 0.8 else indices.places)(w.shape(x), w.random)
    place = f"{x}[{index}]"
    inner = tuple(eval(place, {**w.world.names}).shape)
    whole = inner == tuple(w.shape(x))  # of a view of a leaf, x[:] += y goes wrong in PyTorch
    signs = ["="] if whole else ["=", "=", "+=", "*="]
    y = w.pick(lambda y: y.dtype == w.at(x).dtype and fills(tuple(y.shape), inner))
    if y is None or w.chance(0.3) or y in w.sharing([x]):
        return Statement(f"{place} {w.random.choice(signs)} 1.5", (x,), (), (x,))
    return Statement(f"{place} {w.random.choice(signs)} {y}", (x, y), (), (x,))


def detach(w: Writer) -> Statement | None:
    x = w.pick()
    if x is None:
        return None
    unused = not w.among(x, w.given) and not any(x in s.reads for s in w.statements)
    if "inplace" in w.features and unused and w.chance(0.15):  # gradients may be views of anything
        return Statement(f"{x}.detach_()", (x,), (), (x,))
    if w.parts and x in w.sharing(w.parts):  # whose changes the detached part of several counts is PyTorch's secret
        return None
    (z,) = w.fresh()
    return Statement(f"{z} = {x}.{w.random.choice(['detach()', 'detach()', 'data', 'detach().clone()'])}", (x,), (z,))


def flag(w: Writer) -> Statement | None:
    x = w.pick(lambda x: x.is_leaf) if w.chance(0.8) else w.pick()
    if x is None or len(w.sharing([x])) > 1:  # PyTorch's views of a leaf take part in the change, ours do not
        return None
    return Statement(f"{x}.requires_grad_({w.chance(0.8)})", (x,), (), (x,))


def hook(w: Writer) -> Statement | None:
    x = w.pick(lambda x: x.requires_grad)
    if x is None or w.among(x, w.parts):  # PyTorch calls the hooks of all parts, with None for those without gradient
        return None
    number = len(w.statements)
    kind = w.random.random()
    if kind < 0.3:
        return Statement(f"{x}.retain_grad()", (x,), (), (x,), "hook")
    handles = [n for n in w.world.names if n.startswith("h")]
    if kind < 0.4 and handles:
        h = w.random.choice(handles)
        return Statement(f"{h}.remove()", (h,))
    factor = w.random.choice(["", ", 2.0", ", -0.5"])
    return Statement(f"h{number} = {x}.register_hook(see({number}{factor}))", (x,), (f"h{number}",), (), "hook")


def root(w: Writer) -> str | None:
    """A tensor to differentiate, whose history is whole."""
    if not w.tired:
        return w.pick(lambda x: x.requires_grad and not x.is_leaf)
    names = w.tensors(lambda x: x.requires_grad and not x.is_leaf)
    return next((n for n in reversed(names) if n not in w.tired), None)


def backward(w: Writer, retain: bool | None = None) -> Statement | None:
    x = root(w)
    if x is None:
        return None
    retain = w.chance(0.85) if retain is None else retain
    create = retain and "double" in w.features and w.chance(0.3)
    options = f"weights({x}, {w.random.randrange(1000)}), retain_graph={retain}, create_graph={create}"
    if w.chance(0.8):
        leaves = tuple(w.tensors(lambda t: t.is_leaf))
        return Statement(f"{x}.backward({options})", (x,), (), leaves, "backward")
    y = w.pick(lambda y: y.requires_grad)
    if y is None or (w.watched and w.among(y, w.parts)):
        return None
    return Statement(f"{x}.backward({options}, inputs=[{y}])", (x, y), (), (y,), "backward")


def grad(w: Writer) -> Statement | None:
    x = root(w)
    if x is None:
        return None
    inputs = [n for n in {w.pick(lambda t: t.requires_grad) for _ in range(w.random.randint(1, 3))} if n]
    if len(inputs) > 1:  # beside others, PyTorch gives the gradient of a hooked tensor as it was before the hook
        inputs = [n for n in inputs if not w.among(n, w.watched)] or inputs[:1]
    if w.watched:
        inputs = [n for n in inputs if not w.among(n, w.parts)]
    if not inputs:
        return None
    inputs.sort(key=lambda n: int(n[1:]))
    create = "double" in w.features and w.chance(0.6)
    names = w.fresh(len(inputs))
    text = (
        f"{', '.join(names)}, = torch.autograd.grad({x}, [{', '.join(inputs)}], weights({x}, "
        f"{w.random.randrange(1000)}), retain_graph=True, create_graph={create}, allow_unused=True)"
    )
    return Statement(text, (x, *inputs), names, (), "grad")
