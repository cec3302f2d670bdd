"""Inputs for the ops of the registry, drawn from what each op declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.algebra.sparse import Matrix
from ops.core.bundle import Bundle
from ops.core.op import in_dtype
from ops.specials.scipys import NotDifferentiated

DIFFERENTIABLE = [op for op in REGISTRY.values() if op.differentiable and op.name not in ("output", "custom", "replay")]
ELEMENTWISE = [op for op in DIFFERENTIABLE if op.kind == "elementwise"]


def draw(op: Op, rng: np.random.Generator, shapes: Any) -> tuple[np.ndarray, ...]:
    """Operands of an elementwise op, of the given shapes, in its domain."""
    return tuple(np.asarray(interval.fit(rng.random(shape))) for interval, shape in zip(op.domain, shapes))


def samples(op: Op, seed: int = 0) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Operands and parameters at which a differentiable op is smooth."""
    rng = np.random.default_rng([seed, *map(ord, op.name)])
    if op.cases is not None:
        return list(op.cases(rng))
    shapes = [(2, 3)], [()], [(3, 1), (4,), (2, 1, 1)]
    return [(draw(op, rng, (s * 4)[: len(op.domain)]), {}) for s in shapes]


def in_the_plane(op: Op, seed: int = 0) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """`samples` moved off the real axis: every operand, and of several operands each one alone."""
    rng = np.random.default_rng([seed + 1, *map(ord, op.name)])
    made = []
    for operands, params in samples(op, seed):
        moving = [i for i, x in enumerate(operands) if np.asarray(x).dtype.kind == "f"]
        several = [[i] for i in moving] if len(moving) > 1 else []
        made += [(_off_axis(op, operands, chosen, rng), params) for chosen in [moving, *several] if chosen]
    return made


def _off_axis(op: Op, operands: Any, chosen: list[int], rng: np.random.Generator) -> tuple[Any, ...]:
    moved = list(operands)
    for i in chosen:
        b = rng.uniform(-0.7, 0.7, np.shape(operands[i]))
        moved[i] = operands[i] + 1j * (b - np.swapaxes(b, -1, -2) if op.symmetric else b)
    return tuple(moved)


def active(op: Op, operands: Any) -> list[int]:
    """Positions of the operands that have a rule, one that is known, and floating values."""
    return [i for i, x in enumerate(operands) if known(op.rule(i)) and np.asarray(x).dtype.kind in "fc"]


def known(rule: Any) -> bool:
    """Whether there is a rule that does not refuse."""
    return rule is not None and not isinstance(rule.call, NotDifferentiated)


def results(z: Any) -> list[np.ndarray]:
    """The floating results, and None in place of the others."""
    parts = z if isinstance(z, tuple) else (z,)
    return [p if np.asarray(p).dtype.kind in "fc" else None for p in parts]


def single(x: Any) -> Any:
    """Floating numbers, real or complex, in half their precision."""
    kind = np.asarray(x).dtype.kind
    return x.astype({"f": np.float32, "c": np.complex64}[kind]) if kind in "fc" else x


def single_params(op: Any, params: dict[str, Any], dtype: Any = np.float32) -> dict[str, Any]:
    """The parameters of an op for operands in half their precision."""
    if "matrix" in params:
        rows = params["matrix"].rows
        return {**params, "matrix": Matrix(rows.astype(single(np.ones(1, rows.dtype)).dtype))}
    return {"dtype": np.dtype(dtype)} if op.name == "cast" else params


def noise(like: Any, rng: np.random.Generator) -> np.ndarray:
    """Random numbers of the shape of an array, complex where it is."""
    shape = np.shape(like)
    drawn = rng.standard_normal(shape)
    return np.asarray(drawn + 1j * rng.standard_normal(shape) if np.iscomplexobj(like) else drawn)


def adjoints_for(z: Any, rng: np.random.Generator) -> list[Any]:
    """A random adjoint for each floating result."""
    return [None if p is None else noise(p, rng) for p in results(z)]


def vjps(op: Op, operands: Any, params: Any, gs: list[Any], positions: list[int]) -> list[Any]:
    """Adjoints of the operands at the positions, given the adjoint of each floating result."""
    z = op.forward(*operands, **params)
    g = gs[0] if op.outputs == 1 else Bundle({i: g for i, g in enumerate(gs) if g is not None})
    env = op.environment(operands, z, params)
    with np.errstate(all="ignore"):
        return [_vjp(op, i, g, env, np.asarray(operands[i])) for i in positions]


def _vjp(op: Op, i: int, g: Any, env: dict[str, Any], x: np.ndarray) -> Any:
    """The adjoint of one operand; its real part where the operand is real."""
    bar = op.vjp(i, g, env, x.shape, x.dtype)
    return bar if np.iscomplexobj(bar) == np.iscomplexobj(x) else in_dtype(bar, x.dtype)


def directions(op: Op, operands: Any, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """A random direction for each active operand; a symmetric one where the op takes symmetric matrices."""
    made = {}
    for i in active(op, operands):
        t = noise(operands[i], rng)
        made[i] = t + np.conj(np.swapaxes(t, -1, -2)) if op.symmetric else t
    return made


def moved(operands: Any, ts: dict[int, np.ndarray], h: Any) -> tuple[Any, ...]:
    return tuple(x + h * ts[k] if k in ts else x for k, x in enumerate(operands))


def inner(gs: Any, zs: Any) -> Any:
    """Σ Re(conj(g) z)."""
    return sum(np.sum(np.real(np.conj(g) * z)) for g, z in zip(gs, zs) if g is not None and z is not None)


def along(op: Op, operands: Any, params: Any, ts: dict[int, np.ndarray], gs: Any) -> Any:
    """The change of Σ ⟨g, z⟩ along the directions, by differences."""
    return slope(lambda h: inner(gs, results(op(*moved(operands, ts, h), **params))))


def slope(f: Callable[[float], Any], h: float = 1e-3) -> Any:
    """f'(0) from central differences at h and h/2, extrapolated: error O(h⁴)."""
    coarse, fine = ((f(s) - f(-s)) / (2 * s) for s in (h, h / 2))
    return (4 * fine - coarse) / 3
