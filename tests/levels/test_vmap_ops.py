"""Every op of the registry under vmap: what it gives is the stack of what it gives lane by lane."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import known, samples

import tape
from ops import REGISTRY
from ops.core.batching import Application, for_all_lanes, lane_by_lane, rule_of
from tape.func import jvp, vjp, vmap

N = 3
OPS = [op for op in REGISTRY.values() if op.kind != "composite" and op.name not in ("output", "custom", "replay")]
DYNAMIC = {"argwhere", "nonzero", "flatnonzero", "bincount"}
every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


def plain_samples(op, seed):
    """Operands for an op that has no derivative and so no domain: of the first shape and dtype that it takes."""
    rng = np.random.default_rng(seed)
    needed = [n for n, p in inspect.signature(op.forward).parameters.items() if p.default is p.empty and n in op.params]
    params = {name: 1 if name == "kth" else 2.0 for name in needed}
    for shape, dtype in itertools.product(((5,), (3, 3)), (float, int, bool)):
        operands = tuple(np.sort(rng.integers(1, 4, shape)).astype(dtype) for _ in op.operands)
        try:
            op(*operands, **params)
        except (TypeError, ValueError):
            continue
        return [(operands, params)]
    raise AssertionError(f"{op.name} takes none of the operands")


def cases(op, seed):
    known = op.domain is not None or op.cases is not None
    return samples(op, seed) if known else plain_samples(op, seed)


def applications(op):
    """Lane by lane the operands, which of them are batched, and the parameters."""
    lanes = [cases(op, seed) for seed in range(N)]
    for k, (operands, params) in enumerate(lanes[0]):
        for flags in itertools.product((True, False), repeat=len(operands)):
            if any(flags):
                drawn = [lane[k][0] for lane in lanes]
                rows = [[own[i] if b else x for i, (x, b) in enumerate(zip(operands, flags))] for own in drawn]
                yield rows, flags, params


def stacked(column, axis=0):
    return np.stack([np.asarray(x) for x in column], axis)


def on_tensors(op, params):
    """The op with its results as a tuple."""

    def function(*xs):
        z = op(*xs, **params)
        return z if isinstance(z, tuple) else (z,)

    return function


def mapped(op, rows, flags, params, function=None):
    """vmap of the op, with the lanes along axes here and there, and the arguments."""
    dims, args = [], []
    for i, (column, b) in enumerate(zip(zip(*rows), flags)):
        axis = (0, -1, 0, -1)[i % 4] if b else None
        dims.append(axis)
        args.append(tape.tensor(stacked(column, axis) if b else column[0]))
    return vmap(function or on_tensors(op, params), in_dims=tuple(dims)), args


def lanewise(op, rows, params):
    """The results, each stacked along a first axis; None where the shapes differ from lane to lane."""
    results = [on_tensors(op, params)(*row) for row in rows]
    return [np.stack([np.asarray(z) for z in column]) for column in zip(*results)]


@every_op
def test_values(op):
    if op.name in DYNAMIC:
        with pytest.raises(RuntimeError, match="depends on the numbers"):
            vmap(op)(tape.ones(2, 3).long())
        return
    for rows, flags, params in applications(op):
        function, args = mapped(op, rows, flags, params)
        if op.name == "masked_choice" and flags[1]:
            with pytest.raises(RuntimeError, match="depends on the numbers"):
                function(*args)
            continue
        if op.batch is for_all_lanes:
            assert function(*args)[0].numpy().tolist() == [bool(op(np.array([r[0] for r in rows])))] * N
            continue
        with np.errstate(all="ignore"):
            found, expected = function(*args), lanewise(op, rows, params)
        for z, e in zip(found, expected, strict=True):
            assert z.shape == e.shape, (flags, params)
            assert z.dtype == e.dtype, (flags, params)
            if op.name != "empty_like":
                assert_allclose(z.numpy(), e, rtol=1e-10, atol=1e-12, err_msg=f"{flags} {params}")


def direction(rng, shape, dtype):
    t = rng.standard_normal(shape)
    return np.asarray(t + 1j * rng.standard_normal(shape) if dtype.kind == "c" else t).astype(dtype)


class Derivative:
    """An op as a function of its active operands, and random directions and weights lane by lane."""

    def __init__(self, op, rows, flags, params):
        self.op, self.rows, self.flags, self.params = op, rows, flags, params
        self.active = [i for i, x in enumerate(rows[0]) if known(op.rule(i)) and np.asarray(x).dtype.kind in "fc"]
        rng = np.random.default_rng(7)
        self.kept = [k for k, z in enumerate(on_tensors(op, params)(*rows[0])) if np.asarray(z).dtype.kind in "fc"]
        self.x_dots = [
            [direction(rng, np.shape(row[i]), np.asarray(row[i]).dtype) for i in self.active] for row in rows
        ]
        for i, k in enumerate(self.active):
            if not flags[k]:
                for row in self.x_dots[1:]:
                    row[i] = self.x_dots[0][i]
        zs = [self.call(*row) for row in rows]
        self.gs = [tuple(direction(rng, np.shape(z), z.dtype) for z in row) for row in zs]

    def call(self, *xs):
        z = on_tensors(self.op, self.params)(*xs)
        return tuple(z[k] for k in self.kept)

    def of_active(self, xs):
        def function(*moving):
            new = dict(zip(self.active, moving))
            return self.call(*[new.get(i, x) for i, x in enumerate(xs)])

        return function

    def moving(self, xs):
        return tuple(xs[i] for i in self.active)

    def pull(self, *arguments):
        """The adjoints of the active operands, of one lane: operands, then weights."""
        n = len(self.flags)
        xs, gs = arguments[:n], arguments[n:]
        return vjp(self.of_active(xs), *self.moving(xs))[1](tuple(gs))

    def pulled(self):
        """The adjoints lane by lane, stacked; None where the rule refuses these weights, as that of eigenvectors does
        those that depend on their phase.
        """
        try:
            return self.lanes(self.pull, self.gs)
        except RuntimeError:
            return None

    def push(self, *arguments):
        n = len(self.flags)
        xs, dots = arguments[:n], arguments[n:]
        return jvp(self.of_active(xs), self.moving(xs), tuple(dots))[1]

    def lanes(self, function, extra):
        """The results of a function lane by lane, stacked."""
        rows = [function(*map(tape.tensor, (*row, *more))) for row, more in zip(self.rows, extra)]
        return [stacked(column) for column in zip(*rows)]

    def map(self, function, extra):
        """vmap of a function of the operands and as many more batched things."""
        _, args = mapped(self.op, self.rows, self.flags, self.params)
        dims = [(0, -1, 0, -1)[i % 4] if b else None for i, b in enumerate(self.flags)]
        more = [tape.tensor(stacked(column)) for column in zip(*extra)]
        return vmap(function, in_dims=(*dims, *(0,) * len(more))), (*args, *more)

    def mapped_of_active(self):
        """The mapped op as a function of its active arguments, and those."""
        function, args = mapped(self.op, self.rows, self.flags, self.params, self.call)

        def of_active(*moving):
            new = dict(zip(self.active, moving))
            return function(*[new.get(i, x) for i, x in enumerate(args)])

        return of_active, self.moving(args)


def derivatives(op):
    for rows, flags, params in applications(op):
        if op.name == "masked_choice" and flags[1]:
            continue
        made = Derivative(op, rows, flags, params)
        if made.active and made.kept:
            yield made


differentiable = pytest.mark.parametrize("op", [op for op in OPS if op.differentiable], ids=lambda op: op.name)


def check(found, expected, case):
    for z, e in zip(found, expected, strict=True):
        assert_allclose(z.numpy(), e, rtol=1e-9, atol=1e-10, err_msg=f"{case.flags} {case.params}")


def summed(case, bars):
    """What reaches the arguments of a mapped function: the sum over lanes where these share an operand."""
    for i, bar in zip(case.active, bars):
        axis = (0, -1, 0, -1)[i % 4]
        yield np.moveaxis(bar, 0, axis) if case.flags[i] else bar.sum(0)


@differentiable
def test_vjp(op):
    """Within the mapped function, per lane, also of operands that all lanes share; and through it."""
    for case in derivatives(op):
        within, args = case.map(case.pull, case.gs)
        of_active, active = case.mapped_of_active()
        through = vjp(of_active, *active)[1]
        gs = tuple(tape.tensor(stacked(column)) for column in zip(*case.gs))
        expected = case.pulled()
        if expected is None:
            with pytest.raises(RuntimeError):
                within(*args)
            with pytest.raises(RuntimeError):
                through(gs)
            continue
        check(within(*args), expected, case)
        check(through(gs), summed(case, expected), case)


@differentiable
def test_jvp(op):
    """Within the mapped function, and through it."""
    for case in derivatives(op):
        expected = case.lanes(case.push, case.x_dots)
        within, args = case.map(case.push, case.x_dots)
        check(within(*args), expected, case)
        of_active, active = case.mapped_of_active()
        dots = [
            stacked(column, (0, -1, 0, -1)[i % 4]) if case.flags[i] else column[0]
            for i, column in zip(case.active, zip(*case.x_dots))
        ]
        check(jvp(of_active, active, tuple(map(tape.tensor, dots)))[1], expected, case)


def test_most_ops_are_applied_to_all_lanes_at_once():
    fast = total = 0
    for op in OPS:
        for rows, flags, params in applications(op):
            xs = [stacked(column) if b else column[0] for column, b in zip(zip(*rows), flags)]
            total += 1
            try:
                fast += rule_of(op)(Application(op, N, xs, flags, params)) is not NotImplemented
            except RuntimeError:
                total -= 1
    assert fast > 0.97 * total, (fast, total)


def test_an_op_that_says_nothing_goes_lane_by_lane():
    silent = {op.name for op in OPS if rule_of(op) is lane_by_lane}
    assert silent <= {
        "allclose", "array_equal", "array_equiv", "isin", "outer_sum", "searchsorted", "digitize", "vector_products",
        "function_of_matrix", "solve_banded", "sylvester",
    }  # fmt: skip
