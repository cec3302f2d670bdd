"""Writing a random program, by running it on PyTorch as it grows."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import torch

from . import indices, pool
from .program import Statement, step
from .world import World

SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (1, 3), (2, 1, 3), (4,), (3, 3), (0,), (2, 2)]
LARGEST = 50.0
FEATURES = ("views", "inplace", "hooks", "modes", "detach", "grad", "double", "errors", "float32", "parts")
"""What a program may do beside computing and calling backward."""


MODED = ("elementwise", "arithmetic", "in_place", "store", "backward", "grad", "new_leaf")
"""Kinds of statement that are also run under a mode; not views, which under no_grad are PyTorch's oddest tensors."""


class Writer:
    """A program that grows, and PyTorch's state after it.

    `tired` are the tensors whose history a backward pass has released, or may have; `watched` those with
    hooks; `parts` those among the results of one op.  Hooks of the root and of parts are where PyTorch's engine
    shows that it goes by nodes: it calls them even if no gradient that was asked for comes by.
    """

    def __init__(self, seed: int, features: frozenset[str] = frozenset(FEATURES)):
        self.random = Random(seed)
        self.features = features
        self.statements: list[Statement] = []
        self.world = World(torch)
        self.tired: set[str] = set()
        self.watched: set[str] = set()
        self.parts: set[str] = set()
        self.given: set[str] = set()
        self.count = 0
        self.finished = False
        self.single = "float32" in features and self.random.random() < 0.2

    # What there is

    def tensors(self, wanted: Any = None) -> list[str]:
        names = [n for n, x in self.world.names.items() if isinstance(x, torch.Tensor) and n.startswith("v")]
        return [n for n in names if usable(self.at(n)) and (wanted is None or wanted(self.at(n)))]

    def at(self, name: str) -> Any:
        return self.world.names[name]

    def pick(self, wanted: Any = None) -> str | None:
        """A tensor, a recent one more often."""
        names = self.tensors(wanted)
        if not names:
            return None
        return names[-1 - min(int(self.random.expovariate(0.4)), len(names) - 1)]

    def fresh(self, count: int = 1) -> tuple[str, ...]:
        self.count += count
        return tuple(f"v{i}" for i in range(self.count - count, self.count))

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.at(name).shape)

    # Growing

    def write(self, length: int) -> list[Statement]:
        """A program of about this many statements."""
        for _ in range(self.random.randint(1, 3)):
            self.try_out(self.new_leaf(True))
        for _ in range(3 * length):
            if len(self.statements) >= length or self.finished:
                break
            statement = self.propose()
            if statement is not None:
                self.try_out(statement)
        if not self.finished:
            self.try_out(self.backward(retain=True))
        return self.statements

    def try_out(self, statement: Statement | None) -> None:
        """Run a statement, and keep it unless it fails where it should not, or numbers get out of hand."""
        if statement is None:
            return
        sight = step(self.world, statement)
        if sight.error is not None and self.random.random() > (0.5 if "errors" in self.features else 0.0):
            self.again()
            return
        if sight.error is None and not (self.moderate() and self.telling(statement)):
            self.again()
            return
        self.statements.append(statement)
        if len(statement.writes) > 1:
            self.parts |= set(statement.writes)
        if statement.kind == "hook":
            self.watched.add(statement.reads[0])
        if statement.kind == "grad":
            self.given |= set(statement.writes)  # gradients may be views of each other, and of anything
        if "inputs=" in statement.text:
            self.watched.add(statement.reads[1])
        self.finished = sight.error is not None and statement.kind in ("backward", "grad")
        if any(name in self.tired for name in statement.reads):
            self.tire([*statement.writes, *statement.changes])
        if "retain_graph=False" in statement.text:
            self.tire([n for n in self.tensors() if not self.at(n).is_leaf])

    def tire(self, names: list[str]) -> None:
        """Mark tensors, and all that share memory with them, as tired."""
        self.tired |= self.sharing(names)

    def sharing(self, names: Any) -> set[str]:
        """The tensors on the memory of these."""
        memory = {memory_of(self.world.names.get(n)) for n in names} - {None}
        return {n for n in self.tensors() if memory_of(self.at(n)) in memory}

    def again(self) -> None:
        """Take back what a statement did, by running the others again."""
        self.world = World(torch)
        for statement in self.statements:
            step(self.world, statement)

    def moderate(self) -> bool:
        """Whether all numbers are finite and not too large."""
        found = [self.at(n).detach() for n in self.tensors()]
        grads = [self.at(n).grad for n in self.tensors(lambda x: x.is_leaf or x.retains_grad)]
        values = [x.detach() for x in (*found, *grads) if x is not None and x.numel()]
        return all(bool(torch.isfinite(x).all()) and float(x.abs().max()) < LARGEST for x in values)

    def telling(self, statement: Statement) -> bool:
        """Whether gradients with a history depend on something; whether others have one is nobody's business."""
        made = [self.at(n) for n in statement.writes] if "create_graph=True" in statement.text else []
        made = [x for x in made if x is not None and x.requires_grad and x.numel()]
        leaves = [self.at(n) for n in self.tensors(lambda x: x.is_leaf and x.requires_grad)]
        try:
            bars = [torch.autograd.grad(x.sum(), leaves, retain_graph=True, allow_unused=True) for x in made]
        except RuntimeError:
            return False
        return all(any(bar is not None and bool(bar.any()) for bar in row) for row in bars)

    def propose(self) -> Statement | None:
        """A statement of some kind."""
        kinds = {
            "new_leaf": 3, "elementwise": 20, "call": 14, "arithmetic": 14, "view": 16, "in_place": 22, "store": 10,
            "part": 5, "hook": 5, "detach": 4, "backward": 3, "grad": 6, "choice": 5, "flag": 2,
        }  # fmt: skip
        needs = {
            "view": "views", "in_place": "inplace", "store": "inplace", "part": "parts", "hook": "hooks",
            "detach": "detach", "grad": "grad", "flag": "modes",
        }  # fmt: skip
        kinds = {k: w for k, w in kinds.items() if needs.get(k, "views") in self.features or k not in needs}
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        statement: Statement | None = getattr(self, kind)()
        if statement is not None and kind in MODED and "modes" in self.features and self.random.random() < 0.1:
            mode = self.random.choice(["no_grad", "no_grad", "enable_grad"])
            text = f"with torch.{mode}():\n    {statement.text}"
            statement = Statement(text, statement.reads, statement.writes, statement.changes, statement.kind)
        return statement

    # Kinds of statement

    def new_leaf(self, requires: bool | None = None) -> Statement:
        shape = self.random.choice(SHAPES)
        dtype = "float32" if self.single and self.random.random() < 0.5 else "float64"
        requires = self.random.random() < 0.6 if requires is None else requires
        (z,) = self.fresh()
        return Statement(f"{z} = leaf({self.random.randrange(1000)}, {shape}, {dtype!r}, {requires})", (), (z,))

    def operand(self, name: str, interval: Any) -> str:
        """A tensor, squeezed into an interval unless it lies within."""
        value = self.at(name).detach().numpy()
        inside = ((value >= interval.low) & (value <= interval.high)).all()
        clear = all((np.abs(value - p) >= interval.margin).all() for p in interval.avoid)
        if inside and clear:
            return name
        low = interval.low if not interval.avoid else max(interval.low, interval.avoid[0] + interval.margin)
        return f"into({name}, {low}, {max(interval.high, low)})"

    def partner(self, name: str) -> str | None:
        """A tensor that broadcasts with another, and has its dtype."""
        shape = self.shape(name)
        return self.pick(lambda x: x.dtype == self.at(name).dtype and broadcast(tuple(x.shape), shape))

    def elementwise(self) -> Statement | None:
        op = self.random.choice(pool.elementwise())
        x = self.pick()
        y = self.partner(x) if x and len(op.intervals) == 2 else None
        names = [n for n in (x, y) if n]
        if len(names) < len(op.intervals):
            return None
        if op.name in ("fmax", "fmin") and self.tied(*names):  # ours split the gradient of a tie, as maximum does
            return None
        (z,) = self.fresh()
        operands = ", ".join(self.operand(n, i) for n, i in zip(names, op.intervals))
        return Statement(f"{z} = torch.{op.name}({operands})", tuple(names), (z,))

    def call(self) -> Statement | None:
        call = self.random.choice(pool.calls())
        names = [self.pick(lambda x: x.dtype == torch.float64 and x.numel()) for _ in call.shapes]
        if None in names or (call.chooses and not all(self.orderly(n, s) for n, s in zip(names, call.shapes))):
            return None
        operands = (n if self.shape(n) == s else f"fit({n}, {s})" for n, s in zip(names, call.shapes))  # type: ignore[arg-type]
        writes = self.fresh(call.outputs)
        text = f"{', '.join(writes)} = {call.template.format(*operands)}"
        return Statement(text, tuple(names), writes)  # type: ignore[arg-type]

    def clear(self, name: str) -> bool:
        """Whether no element is so near to a number that programs compare with that rounding might decide."""
        value = self.at(name).detach()
        return all(bool(((value - p).abs() > 1e-4).all()) for p in (0.0, 0.5, 0.75, -0.75))

    def tied(self, x: str, y: str) -> bool:
        """Whether two tensors are equal in some place."""
        return bool((self.at(x) == self.at(y)).any())

    def orderly(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether a tensor has enough elements for a shape, no two of them equal."""
        return self.at(name).numel() >= np.prod(shape) and distinct(self.at(name))

    def arithmetic(self) -> Statement | None:
        x = self.pick()
        if x is None:
            return None
        (z,) = self.fresh()
        if self.random.random() < 0.4:
            number = self.random.choice([2, 0.5, -1.5])
            text = self.random.choice(["{x} * {n}", "{n} - {x}", "{x} + {n}", "{x} / {n}", "{x} ** 2"])
            return Statement(f"{z} = {text.format(x=x, n=number)}", (x,), (z,))
        y = self.partner(x)
        if y is None:
            return None
        return Statement(f"{z} = {x} {self.random.choice('+-**')} {y}", (x, y), (z,))

    def view(self) -> Statement | None:
        x = self.pick()
        if x is None:
            return None
        (z,) = self.fresh()
        if 0 not in (*self.shape(x), len(self.shape(x))) and self.random.random() < 0.15:
            return Statement(f"{z} = {x}[{indices.advanced(self.shape(x), self.random)}]", (x,), (z,))
        return Statement(f"{z} = {indices.views(x, self.shape(x), self.random)}", (x,), (z,))

    def part(self) -> Statement | None:
        x = self.pick()
        found = x and indices.many(x, self.shape(x), self.random)
        if not found:
            return None
        text, count = found
        names = self.fresh(count)
        return Statement(f"{', '.join(names)} = {text}", (x,), names)  # type: ignore[arg-type]

    def in_place(self) -> Statement | None:
        x = self.pick()
        if x is None:
            return None
        if self.random.random() < 0.4:
            op = self.random.choice([op for op in pool.elementwise() if op.in_place])
            y = self.partner(x) if len(op.intervals) == 2 else None
            value = self.at(x).detach().numpy()
            if not all(within(value, i) for i in op.intervals[:1]) or (len(op.intervals) == 2 and y is None):
                return None
            other = "" if y is None else self.operand(y, op.intervals[1])
            return Statement(f"{x}.{op.name}_({other})", (x, y) if y else (x,), (), (x,))
        y = self.partner(x)
        options = [f"{x}.mul_(0.5)", f"{x} += 1.5", f"{x} *= -1", f"{x}.zero_()", f"{x}.fill_(0.25)", f"{x}.sub_(0.5)"]
        if y is not None and self.random.random() < 0.7:
            options = [f"{x} += {y}", f"{x}.mul_({y})", f"{x}.copy_({y})", f"{x} -= {y}", f"{x}.add_({y}, alpha=2)"]
            return Statement(self.random.choice(options), (x, y), (), (x,))
        return Statement(self.random.choice(options), (x,), (), (x,))

    def store(self) -> Statement | None:
        x = self.pick(lambda x: x.ndim > 0 and x.numel())
        if x is None:
            return None
        shape = self.shape(x)
        kind = self.random.random()
        if kind < 0.25 and self.clear(x):
            mask = f"{x} > {self.random.choice([0.0, 0.5])}"
            text = self.random.choice([f"{x}[{mask}] = 0.5", f"{x}.masked_fill_({mask}, -1.0)", f"{x}[{mask}] *= 2.0"])
            return Statement(text, (x,), (), (x,))
        index = indices.basic(shape, self.random) if kind < 0.8 else indices.advanced(shape, self.random)
        place = f"{x}[{index}]"
        inner = tuple(eval(place, {**self.world.names}).shape)
        y = self.pick(lambda y: y.dtype == self.at(x).dtype and fills(tuple(y.shape), inner))
        if y is None or self.random.random() < 0.3:
            return Statement(f"{place} {self.random.choice(['=', '+=', '*='])} 1.5", (x,), (), (x,))
        return Statement(f"{place} {self.random.choice(['=', '=', '+=', '*='])} {y}", (x, y), (), (x,))

    def choice(self) -> Statement | None:
        """Ops that choose elements, in words of their own."""
        x = self.pick(lambda x: x.ndim > 0 and x.numel())
        y = x and self.partner(x)
        if x is None or y is None:
            return None
        if not self.clear(x):
            return None
        shape, d = self.shape(x), self.random.randrange(len(self.shape(x)))
        places = f"torch.tensor({[self.random.randrange(shape[d]) for _ in range(3)]})"
        one = [
            f"torch.where({x} > 0, {x}, {y})", f"torch.clamp({x}, -0.75, 0.75)", f"{x}.masked_fill({x} > 0.5, 2.0)",
            f"{x}.index_select({d}, {places})", f"{x}.sum({d}, keepdim=True)", f"{x}.cumsum({d})", f"{x}.sum()",
            f"{x}.mean()", f"{x}[{x} > 0]", f"{x}.clone()", f"{x}.repeat(2, {', '.join('1' * len(shape))})",
            f"torch.stack([{x}, {x}])", f"torch.cat([{x}, {x} * 2], {d})", f"{x}.softmax({d})", f"{x}.norm()",
        ]  # fmt: skip
        (z,) = self.fresh()
        if self.random.random() < 0.2 and distinct(self.at(x)):
            (i,) = self.fresh()
            text = self.random.choice([f"{x}.sort({d})", f"{x}.max({d})", f"{x}.min({d})", f"{x}.topk(1, {d})"])
            return Statement(f"{z}, {i} = {text}", (x,), (z, i))
        return Statement(f"{z} = {self.random.choice(one)}", (x, y), (z,))

    def detach(self) -> Statement | None:
        x = self.pick()
        if x is None:
            return None
        if (
            "inplace" in self.features
            and self.random.random() < 0.15
            and x not in self.given
            and not any(x in s.reads for s in self.statements)
        ):
            return Statement(f"{x}.detach_()", (x,), (), (x,))
        (z,) = self.fresh()
        return Statement(
            f"{z} = {x}.{self.random.choice(['detach()', 'detach()', 'data', 'detach().clone()'])}", (x,), (z,)
        )

    def flag(self) -> Statement | None:
        x = self.pick(lambda x: x.is_leaf) if self.random.random() < 0.8 else self.pick()
        if x is None or len(self.sharing([x])) > 1:  # PyTorch's views of a leaf take part in the change, and ours not
            return None
        return Statement(f"{x}.requires_grad_({self.random.random() < 0.8})", (x,), (), (x,))

    def hook(self) -> Statement | None:
        x = self.pick(lambda x: x.requires_grad)
        if x is None or x in self.parts:  # PyTorch calls the hooks of all parts, with None for those without gradient
            return None
        number = len(self.statements)
        kind = self.random.random()
        if kind < 0.3:
            return Statement(f"{x}.retain_grad()", (x,), (), (x,), "hook")
        handles = [n for n in self.world.names if n.startswith("h")]
        if kind < 0.4 and handles:
            h = self.random.choice(handles)
            return Statement(f"{h}.remove()", (h,))
        factor = self.random.choice(["", ", 2.0", ", -0.5"])
        return Statement(f"h{number} = {x}.register_hook(see({number}{factor}))", (x,), (f"h{number}",), (), "hook")

    def root(self) -> str | None:
        return (
            self.pick(lambda x: x.requires_grad and not x.is_leaf)
            if not self.tired
            else next(
                (n for n in reversed(self.tensors(lambda x: x.requires_grad and not x.is_leaf)) if n not in self.tired),
                None,
            )
        )

    def backward(self, retain: bool | None = None) -> Statement | None:
        x = self.root()
        if x is None:
            return None
        seed = self.random.randrange(1000)
        retain = self.random.random() < 0.85 if retain is None else retain
        create = retain and "double" in self.features and self.random.random() < 0.3
        inputs = ""
        if self.random.random() < 0.2 and x not in self.watched:
            y = self.pick(lambda y: y.requires_grad)
            if self.watched and y in self.parts:
                return None
            inputs = f", inputs=[{y}]"
            return Statement(
                f"{x}.backward(weights({x}, {seed}), retain_graph={retain}, create_graph={create}{inputs})",
                (x, y), (), (y,), "backward",  # type: ignore[arg-type]
            )  # fmt: skip
        text = f"{x}.backward(weights({x}, {seed}), retain_graph={retain}, create_graph={create})"
        return Statement(text, (x,), (), tuple(self.tensors(lambda t: t.is_leaf)), "backward")

    def grad(self) -> Statement | None:
        x = self.root()
        if x is None or x in self.watched:
            return None
        inputs = [n for n in {self.pick(lambda t: t.requires_grad) for _ in range(self.random.randint(1, 3))} if n]
        if len(inputs) > 1:  # beside others, PyTorch gives the gradient of a hooked tensor as it was before the hook
            inputs = [n for n in inputs if n not in self.watched] or inputs[:1]
        if self.watched:
            inputs = [n for n in inputs if n not in self.parts]
        if not inputs:
            return None
        inputs.sort(key=lambda n: int(n[1:]))
        create = "double" in self.features and self.random.random() < 0.6
        names = self.fresh(len(inputs))
        text = (
            f"{', '.join(names)}, = torch.autograd.grad({x}, [{', '.join(inputs)}], weights({x}, "
            f"{self.random.randrange(1000)}), retain_graph=True, create_graph={create}, allow_unused=True)"
        )
        return Statement(text, (x, *inputs), names, (), "grad")


def usable(x: torch.Tensor) -> bool:
    """Whether a tensor holds floating-point numbers, and its history has survived what was done to its base."""
    try:
        return x.is_floating_point() and x.is_leaf is not None
    except RuntimeError:
        return False


def memory_of(x: Any) -> int | None:
    return x.untyped_storage().data_ptr() if isinstance(x, torch.Tensor) else None


def distinct(x: torch.Tensor) -> bool:
    """Whether no two elements are close."""
    values = x.detach().flatten().sort().values
    return bool((values.diff() > 1e-3).all())


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast to few elements."""
    try:
        return int(np.prod(np.broadcast_shapes(a, b))) <= 64
    except ValueError:
        return False


def fills(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    return broadcast(a, b) and np.broadcast_shapes(a, b) == b


def within(value: np.ndarray, interval: Any) -> bool:
    return bool(((value >= interval.low) & (value <= interval.high)).all()) and all(
        (np.abs(value - p) >= interval.margin).all() for p in interval.avoid
    )
