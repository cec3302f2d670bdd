"""A program that grows, and the state that PyTorch is in after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np
import torch

from .program import Statement, step
from .world import World

LARGEST = 50.0
FEATURES = ("views", "inplace", "hooks", "modes", "detach", "grad", "double", "errors", "float32", "parts")
"""What a program may do beside computing and calling backward."""

Wanted = Callable[[torch.Tensor], Any]


class Writer:
    """A program that grows by statements that are tried out.

    `tired` are the tensors whose history a backward pass has released, or may have; `watched` those with
    hooks; `parts` those among the results of one op; `given` the results of `grad`; `bare` those of ``.data``.

    Hooks of parts are where PyTorch's engine shows that it goes by nodes: it calls them even if no gradient that
    was asked for comes by, so programs have no such hooks.
    """

    def __init__(self, seed: int, features: Iterable[str] = FEATURES):
        self.random = Random(seed)
        self.features = frozenset(features)
        self.statements: list[Statement] = []
        self.world = World(torch)
        self.tired: set[str] = set()
        self.watched: set[str] = set()
        self.parts: set[str] = set()
        self.given: set[str] = set()
        self.bare: set[str] = set()
        self.count = 0
        self.finished = False
        self.single = "float32" in features and self.random.random() < 0.2

    # What there is

    def tensors(self, wanted: Wanted | None = None) -> list[str]:
        """Names of the floating-point tensors that can still be used."""
        names = [n for n, x in self.world.names.items() if isinstance(x, torch.Tensor) and n.startswith("v")]
        return [n for n in names if usable(self.at(n)) and (wanted is None or wanted(self.at(n)))]

    def at(self, name: str) -> Any:
        return self.world.names[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.at(name).shape)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, wanted: Wanted | None = None) -> str | None:
        """A tensor, a recent one more often."""
        names = self.tensors(wanted)
        if not names:
            return None
        return names[-1 - min(int(self.random.expovariate(0.4)), len(names) - 1)]

    def partner(self, name: str) -> str | None:
        """A tensor that broadcasts with another, and has its dtype."""
        shape = self.shape(name)
        return self.pick(lambda x: x.dtype == self.at(name).dtype and broadcast(tuple(x.shape), shape))

    def fresh(self, count: int = 1) -> tuple[str, ...]:
        """Names that are not taken."""
        self.count += count
        return tuple(f"v{i}" for i in range(self.count - count, self.count))

    def among(self, name: str, names: set[str]) -> bool:
        """Whether a tensor is one of those, by this or by another name."""
        return any(self.world.names.get(n) is self.at(name) for n in names)

    def sharing(self, names: Iterable[str]) -> set[str]:
        """The tensors on the memory of these."""
        memory = {memory_of(self.world.names.get(n)) for n in names} - {None}
        return {n for n in self.tensors() if memory_of(self.at(n)) in memory}

    def changeable(self) -> str | None:
        """A tensor that may be changed in place.

        Not an expanded one, nor a view of one, into which PyTorch writes sometimes and ours never, nor another that
        has an element at several places; not the result of `grad`, which may share its memory with others; not one
        that shares its memory with ``.data`` and is part of a history: what a change nobody notices does to a gradient
        depends on what each rule reads; not one of several results that retains its gradient, or a view of it, after
        whose change PyTorch 2.13 crashes.
        """
        x = self.pick()
        sharing = self.sharing([x]) if x else set()
        if x is None or any(repeats(self.at(n)) for n in sharing):
            return None
        silent = sharing & self.bare and any(self.at(n).requires_grad for n in sharing | self.made_of(sharing))
        silent = silent or any(self.among(n, self.parts) and self.among(n, self.watched) for n in sharing)
        return None if silent or sharing & self.given else x

    def made_of(self, names: set[str]) -> set[str]:
        """The tensors that some statement has made of these."""
        made = {n for s in self.statements if names & set(s.reads) for n in s.writes}
        return made & set(self.tensors())

    def apart(self, x: str, y: str) -> bool:
        """Whether one tensor can be written into another: they share no memory, or are the same."""
        return self.at(x) is self.at(y) or y not in self.sharing([x])

    # Growing

    def try_out(self, statement: Statement | None) -> None:
        """Run a statement, and keep it unless it fails too often, or numbers get out of hand."""
        if statement is None:
            return
        error = step(self.world, statement).error
        if not (self.moderate() and self.telling(statement) if error is None else self.may_fail()):
            self.again()
            return
        self.statements.append(statement)
        self.finished = error is not None and statement.kind in ("backward", "grad")
        self.note(statement)

    def may_fail(self) -> bool:
        return "errors" in self.features and self.chance(0.5)

    def note(self, statement: Statement) -> None:
        """What later statements have to know of one."""
        if len(statement.writes) > 1:
            self.parts |= set(statement.writes)
        if statement.kind == "hook":
            self.watched.add(statement.reads[0])
        if statement.text.endswith(".data"):
            self.bare |= set(statement.writes)
        if statement.kind == "grad":
            self.given |= set(statement.writes)
        if "inputs=" in statement.text:
            self.watched.add(statement.reads[1])
        if any(name in self.tired for name in statement.reads):
            self.tired |= self.sharing([*statement.writes, *statement.changes])
        if "retain_graph=False" in statement.text:
            self.tired |= self.sharing([n for n in self.tensors() if not self.at(n).is_leaf])

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
        made = [x for x in made if x is not None and x.requires_grad]
        leaves = [self.at(n) for n in self.tensors(lambda x: x.is_leaf and x.requires_grad)]
        try:
            bars = [torch.autograd.grad(x.sum(), leaves, retain_graph=True, allow_unused=True) for x in made]
        except RuntimeError:
            return False
        return all(any(bar is not None and bool(bar.any()) for bar in row) for row in bars)

    # Whether numbers are such that rounding does not decide

    def clear(self, name: str) -> bool:
        """Whether no element is near to a number that programs compare with."""
        value = self.at(name).detach()
        return all(bool(((value - p).abs() > 1e-4).all()) for p in (0.0, 0.5, 0.75, -0.75))

    def distinct(self, name: str) -> bool:
        """Whether no two elements are close."""
        return bool((self.at(name).detach().flatten().sort().values.diff() > 1e-3).all())

    def orderly(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether a tensor has enough elements for a shape, no two of them close."""
        return self.at(name).numel() >= np.prod(shape) and self.distinct(name)


def usable(x: torch.Tensor) -> bool:
    """Whether a tensor holds floating-point numbers, and its history has survived what was done to its base."""
    try:
        return x.is_floating_point() and x.is_leaf is not None
    except RuntimeError:
        return False


def repeats(x: torch.Tensor) -> bool:
    """Whether one number in memory is several elements."""
    places = sum((n * i for n, i in zip(x.stride(), np.indices(tuple(x.shape)))), start=np.zeros(tuple(x.shape)))
    return 0 in x.stride() or len(np.unique(places)) < x.numel()


def memory_of(x: Any) -> int | None:
    return x.untyped_storage().data_ptr() if isinstance(x, torch.Tensor) else None


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast to few elements."""
    try:
        return int(np.prod(np.broadcast_shapes(a, b))) <= 64
    except ValueError:
        return False


def fills(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    return broadcast(a, b) and np.broadcast_shapes(a, b) == b
