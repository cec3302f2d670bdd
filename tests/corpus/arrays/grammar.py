"""Writing a random program in plain NumPy.

Names say what they hold: ``s`` numbers without axes, ``v`` vectors of three, ``m`` matrices of three by three,
all computed from the arguments; ``p`` floats and ``i`` integers; ``w`` buffers that are written, ``u`` a view of
something, ``l`` a list.  Outside of the function are ``C`` (an array), ``helper`` and ``written`` (functions).
"""

from __future__ import annotations

import random

from ..tree import Statement
from .blocks import ALONE, BLOCKS, CONVERTING, WIDE, parsed
from .program import Program

SCALARS = (
    "{v}.sum()", "np.mean({v})", "{v}[{k}]", "{v}.max()", "np.dot({v}, {v})", "{v} @ {v}", "{m}[{k}, {k}]",
    "{m}.trace()", "np.sin({s})", "{s} * {s}", "{s} + {p}", "np.tanh({s})", "np.where({s} > {s}, {s}, {s} * 2)",
    "abs({s})", "{s} / (1 + {s} * {s})", "np.exp(-np.square({s}))", "np.log1p(np.abs({s}))", "max({s}, {s})",
    "{v}[{v} > {s}].sum()", "helper({s})", "{v}.std()", "np.var({v}, ddof=1)", "{v}.size * {s}", "len({v}) - {s}",
    "{v}[{i} % 3]", "sum({v})", "max({v})", "min({v}, key=lambda e: abs(e))", "{v}[{v}.argmax()]", "np.ptp({m})",
    "np.linalg.norm({v})", "np.prod(np.tanh({v}))", "{s} ** 2", "np.clip({s}, -1, 1)", "(C * {v}).sum()",
    "np.median({v})", "{m}.min(axis=0)[{k}]", "np.sum({v}, where={v} > 0)", "l0[-1] * {s}", "sum(l0)",
    "np.sqrt({s} ** 2 + 1)", "{v}.dot({v})", "np.trapezoid({v})", "{m}.flat[{k}]",
    "np.linalg.det({m} + 4 * np.eye(3))", "np.einsum('i,ij,j', {v}, {m}, {v})", "np.ravel({m})[{k} + 3]",
    "np.inner({v}, {v})", "np.interp({p}, [-2.0, 0.0, 2.0], {v})", "{v}.mean(keepdims=True)[0]", "np.float64({s})",
    "float(np.pi) * {s}", "np.max(np.abs({m}))", "np.hypot({s}, 1.0)", "np.real({s} * 1j * -1j)",
)  # fmt: skip
VECTORS = (
    "{v} * {s}", "{v} + {v}", "np.sin({v})", "np.tanh({m} @ {v})", "{v}[[2, 0, 1]]", "{v}.cumsum()",
    "np.diff({v}, prepend={s})", "np.where({v} > {s}, {v}, -{v})", "np.array([{s}, {s}, {s}])",
    "np.concatenate(({v}[:1], {v}[1:]))", "{m}.sum(0)", "{m}[{k}]", "{v} / (1 + {v} * {v})", "C * {v}", "helper({v})",
    "{v}.copy()", "np.sort({v})", "{v}[::-1]", "{m}.max(0)", "{m}.std(axis=1)", "{m}[:, {k}]", "{m}.T[{k}]",
    "np.diag({m})", "{m}.diagonal() * 1", "{v}.clip(-1, 1)", "np.roll({v}, 1)", "np.flip({v})", "{v} - {v}.mean()",
    "np.maximum({v}, {s})", "{v}.repeat(2)[:3]", "np.tile({v}, 2)[2:5]", "{v}.astype(float)",
    "{v}.astype(np.float64, copy=False) * {s}", "np.outer({v}, {v})[{k}]", "np.round({v}, 1) * {v}",
    "({v} > {s}) * {v}", "{v}[np.argsort({v})]", "np.vectorize(lambda e: e * 2.0)({v})",
    "np.array([e * {s} for e in {v}])", "np.asarray({v}) * 2", "np.ones(3) * {v}", "np.full(3, {s})", "{v} ** 2",
    "np.stack([{s}, {s}, {s}])", "np.hstack(({v}[:2], {s}))", "np.append({v}[:2], {s})", "np.take({v}, [1, 1, 0])",
    "np.linalg.solve({m} + 5 * np.eye(3), {v})", "np.linspace(0, 1, 3) * {v}", "np.arange(3) * {s}", "-{v}",
    "np.apply_along_axis(np.sum, 0, {m})", "np.convolve({v}, [0.5, 0.5], 'same')", "{m}.ravel()[::4]",
    "{m}.flatten()[3:6]", "np.cross({v}, {v} + C)", "np.select([{v} > 0, {v} > -1], [{v}, {v} * 2], 0.0)",
    "np.minimum.accumulate({v})", "np.add.reduce({m})", "np.nan_to_num({v})", "{v}.round(1) + {v}",
    "np.delete({m}[0], 0).sum() * {v}", "{m}.mean(1)", "np.cumprod(np.tanh({v}))",
    "np.zeros_like({v}) + {s}", "u0.sum() * {v}", "np.fft.rfft({v}).real[:1] + {v}", "np.abs({v} + 1j * {v}[::-1])",
    "np.array(sorted({v}))", "np.array(l0 + [{s}])[:3][::-1].sum() * {v}",
    "np.interp([0.5, 1.0, 1.5], [0, 1, 2], {v})", "np.gradient({v})",
    "np.piecewise({v}, [{v} > 0], [lambda e: e * 2, lambda e: -e])", "np.array(list(map(np.sin, {v})))",
    "np.fromiter((0.5 * k for k in range(3)), float) * {v}", "np.kron({v}[:1], {v})", "np.atleast_2d({v})[0]",
    "{v}.reshape(-1, 1)[:, 0]", "np.squeeze({v}[None])", "{m}[np.arange(3), [2, 0, 1]]",
    "np.vectorize(lambda e: e if e > {p} else e * e)({v})", "np.apply_along_axis(lambda r: r * r.sum(), 0, {m})[0]",
    "np.maximum.accumulate({v})", "np.diff({v}, append={s})", "np.flipud({v})", "np.split({m}, 3)[{k}][0]",
    "np.einsum('ii->i', {m})", "np.meshgrid({v}, {v}, indexing='ij')[1][{k}]",
    "np.lib.stride_tricks.sliding_window_view({v}, 1)[:, 0]",
)  # fmt: skip
MATRICES = (
    "{m} * {s}", "np.tanh({m} @ {m})", "{m} + {v}", "{m}.T", "{v}.reshape(3, 1) * {v}", "np.stack([{v}, {v}, {v}])",
    "np.sin({m})", "np.where({m} > {s}, {m}, 0.0)", "{m} * C", "{m}[[1, 2, 0]]", "{m} / (1 + {m} * {m})",
    "np.outer({v}, {v})", "np.triu({m})", "np.diag({v})", "np.eye(3) * {s}", "np.array([{v}, {v}, {v}])",
    "np.vstack(({m}[:1], {m}[:2]))", "{v}[:, np.newaxis] - {v}[np.newaxis, :]", "np.linalg.inv({m} + 5 * np.eye(3))",
    "np.add.outer({v}, {v})", "{m}.swapaxes(0, 1)", "np.sort({m}, axis=0)", "{m}.cumsum(1)",
    "np.broadcast_to({v}, (3, 3)) * 1", "np.tril({m}, -1) + np.eye(3)", "{m}.reshape(9)[::-1].reshape(3, 3)",
    "np.array([[i * {s} + j for j in range(3)] for i in range(3)])", "{m}.dot({m}) * 0.1",
    "np.concatenate([{m}[:1], {m}[1:]])", "np.pad({m}, 1)[:3, 1:4]", "np.rot90({m})",
    "{m} - {m}.mean(axis=0, keepdims=True)", "np.take_along_axis({m}, np.argsort({m}, 1), 1)",
    "np.block([[{m}[:2]], [{v}]])", "np.meshgrid({v}, {v})[0]", "np.column_stack(({v}, {v}, {v}))",
    "np.einsum('ij,jk->ki', {m}, {m}) * 0.1",
)  # fmt: skip
FLOATS = ("0.75", "-0.3", "min({p}, 2.0)", "{p} * 0.5", "float({i})", "(1.0 if {s} > 0 else 2.0)", "float({v}.size)")
CONVERSIONS = (
    "float({s})", "{s}.item()", "{v}.tolist()[{k}]", "float({v}.max())", "math.sin({s})", "math.exp(-{s} * {s})",
    "{p} * {p} + {v}[{k}].item()", "math.hypot({v}[0], {v}[1])", "math.sqrt({s} * {s} + 1)",
)  # fmt: skip
INTEGERS = (
    "int({s} * 2) % 3", "int({v}.argmax())", "sum(1 for e in {v} if e > {p})", "({i} + 1) % 3", "len({v}[{v} > {s}])",
    "int({s} > {s})", "sorted(range(3), key=lambda k: {v}[k])[0]", "np.count_nonzero({v} > 0)",
    "int(np.searchsorted(np.sort({v}), {s})) % 3", "{v}.ndim", "{m}.shape[0] - 2", "int(np.sign({s})) % 3",
    "round(float({s}))  % 3",
)  # fmt: skip
TRUTHS = (
    "{s} > {s}", "{s} < {p}", "({v} > {s}).any()", "np.all({v} > 0)", "{i} % 2 == 0", "not {s} < 0",
    "{v}[0] < {v}[1] < {v}[2]", "{s} > 0 and {s} < 2", "np.allclose({v}, x)", "np.array_equal({v}, {v})",
    "{v}.max() > {p}", "np.isfinite({v}).all()", "isinstance({v}, np.ndarray)", "{v}.dtype == np.float64",
    "np.linalg.norm({v}) > 1",
)  # fmt: skip
MADE = (
    "np.zeros(3)", "np.ones(3)", "np.zeros((3,), dtype=np.float64)", "np.zeros_like(x)", "np.ones_like({v})",
    "np.full(3, 0.5)", "np.full(3, {s})", "np.full_like(x, 2.0)", "np.arange(3.0)", "np.array([0.0, 1.0, 2.0])",
    "np.linspace(-1, 1, 3)", "np.array([{s}, 0.0, 1.0])", "x.copy()", "np.copy({v})", "np.array({v})",
    "np.eye(3)[{k}]", "np.repeat(0.0, 3)", "C.copy()", "np.array([e for e in {v}])", "np.asarray([{s}] * 3)",
    "np.zeros(6)[::2]", "np.zeros(x.shape, x.dtype)", "np.broadcast_to(0.0, 3).copy()", "np.tile(0.5, 3)",
    "np.concatenate([np.zeros(1), {v}[1:]])",
)  # fmt: skip
MADE_MATRICES = (
    "np.zeros((3, 3))", "np.ones((3, 3))", "np.eye(3)", "np.identity(3)", "np.zeros_like(m)", "np.full((3, 3), {s})",
    "np.arange(9.0).reshape(3, 3)", "m.copy()", "np.array([{v}, C, {v}])", "np.diag({v})", "np.outer(C, C)",
    "np.zeros((3, 3), order='F')", "np.zeros((3, 3)).T", "np.zeros((3, 4))[:, 1:]",
)  # fmt: skip
WRITES = (
    "w0[{k}] = {s}", "w0[{k}] += {s}", "w0[1:] = {v}[:2]", "w0[:2] += {v}[1:]", "w0[::-1] += {v}", "w0[:] = {v}",
    "w0[...] = {s}", "w0 += {v}", "w0 *= {s}", "w0 -= {v} * {p}", "w0 /= 1 + {v} * {v}", "w0[{v} > {s}] = {s}",
    "w0[{v} > 0] += {s}", "w0[{v} > {s}] = {v}[{v} > {s}]", "w0[[2, 0]] = {v}[:2]", "w0[[0, 0, 2]] = {v}",
    "w0[np.array([1, 2])] *= {s}", "np.add.at(w0, [0, 0, 2], {v})", "np.subtract.at(w0, {i} % 3, {s})",
    "np.add({v}, {v}, out=w0)", "np.multiply({v}, {s}, w0)", "np.cumsum({v}, out=w0)",
    "np.sin({v}, out=w0, where={v} > {p})", "np.maximum(w0, {v}, out=w0)", "{m}.sum(axis=0, out=w0)",
    "np.copyto(w0, {v})", "np.copyto(w0, {v}, where={v} > {s})", "np.put(w0, [0, 2], {v}[:2])", "w0.put([1], {s})",
    "np.place(w0, {v} > {p}, {v})", "np.putmask(w0, w0 > {p}, {v})", "w0.fill({s})", "w0.sort()", "w0[{i} % 3] = {s}",
    "w0.flat[1] = {s}", "w0.flat = {v}", "w0[-1] -= {s} * w0[0]", "w0[:2], w0[2] = {v}[1:], {s}",
    "w0[0], w0[1] = w0[1], w0[0]", "w0[1:] = w0[:-1]", "w0[:-1] += w0[1:]", "w0 = w0 + {v}", "w0 **= 2",
    "w0[None, 1:] = {s}", "w0[w0 < 0] = 0.0", "w0[w0 > {s}] *= {p}", "written(w0, {v})", "u0 = written(w0, {v}[{k}])",
    "w0[~({v} > 0)] = -1", "np.negative(w0, w0)",
    "w0.itemset(0, {s}) if hasattr(w0, 'itemset') else w0.__setitem__(0, {s})", "w0[slice(0, {i} % 3)] = {s}",
    "np.divide({v}, 1 + {s} * {s}, out=w0)", "w0.clip(-1, 1, out=w0)", "w0[np.nonzero({v} > 0)] = {s}",
    "w0[np.argmax({v})] += {s}", "w0[np.where({v} < {s})[0]] -= 1",
    "np.multiply.at(w0, [0, 2, 2], {v})", "np.maximum.at(w0, [0, 1, 1], {v})", "np.exp.at(w0, [1, 1])",
    "np.negative.at(w0, {k})", "np.nan_to_num(w0, copy=False)", "np.flip(w0)[:2] = {v}[1:]",
    "np.split(w0, 3)[{k}][:] = {s}",
)  # fmt: skip
MATRIX_WRITES = (
    "w1[{k}] = {v}", "w1[:, {k}] *= {v}", "w1[{k}, {k}] += {s}", "w1[1:, :2] = {m}[:2, 1:]", "w1 += {m}",
    "w1[...] = {m}.T", "w1.flat[4] = {s}", "w1.flat[::4] += {v}", "np.fill_diagonal(w1, {s})",
    "np.fill_diagonal(w1, {v})", "np.put_along_axis(w1, np.array([[0], [2], [1]]), {v}[:, None], 1)",
    "w1[np.ix_([0, 2], [1, 2])] = {s}", "w1[np.triu_indices(3, 1)] = {v}", "w1[{m} > {s}] = {s}",
    "w1[[0, 1], [2, 2]] += {s}", "w1.T[{k}] -= {v}", "w1.reshape(-1)[::2] += {s}", "np.matmul({m}, {m}, out=w1)",
    "np.dot({m}, {m}, out=w1)", "np.outer({v}, {v}, out=w1)", "w1[:, ::2] *= {s}",
    "w1[1:-1, 1:-1] = 0.25 * (w1[2:, 1:-1] + w1[:-2, 1:-1] + w1[1:-1, 2:] + w1[1:-1, :-2])",
    "w1[0, :] = w1[:, 0] = {v}", "w1[{k}].sort()", "w1.sort(axis=0)", "np.add.at(w1, ([0, 0], [1, 1]), {s})",
    "w1[np.eye(3, dtype=bool)] = {v}", "w1[:, [0, 2]] = w1[:, [2, 0]]", "w1[{k}, 1:] += w1[{k}, :-1]", "w1 @= {m}",
    "w1[np.tril_indices(3)] *= {p}", "np.copyto(w1, {v}[:, None])", "w1[{v} > 0] += {v}", "w1[{v} > {s}, {k}] = {s}",
    "w1.T[...] = {m}", "np.einsum('ii->i', w1)[:] = {v}", "np.rot90(w1)[0] += {v}", "np.flip(w1, 0)[{k}] = {s}",
    "np.hsplit(w1, 3)[1][...] = {v}[:, None]", "np.vsplit(w1, 3)[{k}][0, 1:] *= {s}", "np.unstack(w1)[{k}][:] = {v}",
    "w1[...] = np.apply_along_axis(np.cumsum, 1, {m})", "np.rollaxis(w1, 1)[{k}] -= {v}",
)  # fmt: skip
LOOKS = (
    "w0[1:]", "w0[::-1]", "w0[:2]", "w0[None]", "w1[{k}]", "w1.T", "w1[:, {k}]", "w1[1:, 1:]", "w1.reshape(-1)",
    "w1.ravel()[2:5]", "w0.view()", "w1[::2]", "np.asarray(w0)", "w0", "np.reshape(w1, 9)[::3]", "w1.T[1:].T",
    "np.transpose(w1)[0]", "np.diagonal(w1)", "w0[...]", "np.ravel(w0)", "w1.swapaxes(0, 1)[0]", "np.atleast_2d(w0)",
    "w0[:, None]", "np.squeeze(w0[None])", "np.broadcast_to(w0, (2, 3))", "np.split(w0, 3)[1]", "next(iter(w1))",
    "np.expand_dims(w0, 0)[0, 1:]", "np.flip(w0)", "np.flipud(w1)", "np.fliplr(w1)", "np.rot90(w1)",
    "np.rollaxis(w1, 1)", "np.einsum('ii->i', w1)", "np.einsum('ij->ji', w1)", "np.diag(w1)", "np.hsplit(w1, 3)[2]",
    "np.array_split(w0, 2)[0]", "np.moveaxis(w1, 0, 1)[1]", "np.meshgrid(w0, w0)[0]", "np.real(w0)",
    "np.unstack(w1)[1]", "np.ascontiguousarray(w1)", "np.require(w0)", "np.nan_to_num(w0, copy=False)",
)  # fmt: skip
THROUGH_VIEWS = (
    "u0 *= {s}", "u0 += {s}", "u0[...] = u0 * {p}", "u0[0] = {s}", "u0[0] += {s}", "np.sin(u0, out=u0)",
    "np.copyto(u0, {s})", "u0.fill({s})", "u0[u0 > {p}] = {s}", "u0.flat[0] = {s}", "u0[:1] -= {s}", "w0 += {v}",
    "w1[{k}] = {v}", "w0[1] *= {s}", "w1 *= {s}", "u0[-1:] = {s}", "u0 = u0 * {s}", "u0 = u0[::-1]", "w0 = w0 * 2",
    "u0.sort()", "w0[:] = {v}", "np.copyto(w1, {m})", "u0 = np.flip(u0)", "np.add.at(u0, 0, {s})",
)  # fmt: skip
RESULTS = (
    "s0 + v0.sum()", "v0 + w0", "(s0, v1)", "w1 * s0", "(w0, s0 * p0)", "v0 * p0 + i0", "[v0 + v1, m0 @ v2, w0]",
    "w1.sum(axis=1) + w0", "np.array([s0, s1, w0[1]])", "(w0, w1, u0.sum())", "v0.T @ m0 + w0", "w0[::-1] * v1",
    "{'a': v0 * s1, 'b': w1[1]}",
)  # fmt: skip
KINDS = {"s": SCALARS, "v": VECTORS, "m": MATRICES, "p": FLOATS, "i": INTEGERS}
NAMES = {
    "s": ("s0", "s1", "s2", "w0[0]", "w1[2, 1]"), "v": ("v0", "v1", "v2", "x", "w0", "w1[1]"),
    "m": ("m0", "m1", "w1", "m"),
    "p": ("p0", "p1"), "i": ("i0", "i1"),
}  # fmt: skip
ASSIGNED = {"s": ("s0", "s1", "s2"), "v": ("v0", "v1", "v2"), "m": ("m0", "m1"), "p": ("p0", "p1"), "i": ("i0", "i1")}


class Grammar:
    """Chooses at random, with a budget for depth.

    Attributes:
        converts: whether numbers of Python made of values are among the floats.
    """

    def __init__(self, seed: int, converts: bool):
        self.random = random.Random(seed)
        self.kinds, self.alone = dict(KINDS), ALONE
        if converts:
            self.alone = ALONE + CONVERTING
            self.kinds |= {"p": FLOATS + CONVERSIONS, "s": SCALARS + CONVERSIONS}

    def filled(self, pattern: str, depth: int = 1) -> str:
        """A pattern with names or other expressions in its holes."""
        for kind in "svmpi":
            while f"{{{kind}}}" in pattern:
                deeper = depth > 0 and self.random.random() < 0.25
                choice = self.random.choice(self.kinds[kind] if deeper else NAMES[kind])
                part = f"({self.filled(choice, depth - 1)})" if deeper else choice
                pattern = pattern.replace(f"{{{kind}}}", part, 1)
        while "{k}" in pattern:
            pattern = pattern.replace("{k}", str(self.random.randrange(3)), 1)
        return pattern

    def any(self, *patterns: str) -> Statement:
        return Statement(self.filled(self.random.choice(patterns)))

    def block(self, depth: int) -> tuple[Statement, ...]:
        return tuple(s for _ in range(self.random.randint(1, 3)) for s in self.statement(depth - 1))

    def statement(self, depth: int) -> tuple[Statement, ...]:
        """One or more statements that belong together."""
        simple = (
            self._assign,
            self._assign,
            self._make,
            self._write,
            self._write,
            self._write,
            self._view,
            self._alias,
            self._line,
            self._line,
        )
        nested = (
            self._branch,
            self._loop,
            self._fill,
            self._recur,
            self._function,
            self._closure,
            self._class,
            self._generator,
            self._list,
            self._until,
            self._fail,
            *[self._piece] * 4,
            *[self._wide] * 4,
        )
        return self.random.choice(simple + nested if depth > 0 else simple)(depth)

    def _line(self, depth: int) -> tuple[Statement, ...]:
        return parsed(self.random.choice(self.alone), self.filled)

    def _piece(self, depth: int) -> tuple[Statement, ...]:
        return (Statement("if True:", parsed(self.random.choice(BLOCKS), self.filled)),)

    def _wide(self, depth: int) -> tuple[Statement, ...]:
        return (Statement("if True:", parsed(self.random.choice(WIDE), self.filled)),)

    def _assign(self, depth: int) -> tuple[Statement, ...]:
        kind = self.random.choice("sssvvvvmmpi")
        return (
            Statement(f"{self.random.choice(ASSIGNED[kind])} = {self.filled(self.random.choice(self.kinds[kind]))}"),
        )

    def _make(self, depth: int) -> tuple[Statement, ...]:
        """A new buffer, and a write into it."""
        if self.random.random() < 0.6:
            return Statement(f"w0 = {self.filled(self.random.choice(MADE), 0)}"), self.any(*WRITES)
        return Statement(f"w1 = {self.filled(self.random.choice(MADE_MATRICES), 0)}"), self.any(*MATRIX_WRITES)

    def _write(self, depth: int) -> tuple[Statement, ...]:
        return (self.any(*(WRITES if self.random.random() < 0.6 else MATRIX_WRITES)),)

    def _view(self, depth: int) -> tuple[Statement, ...]:
        """Writes into an array and into a view of it that was taken before, between or after them."""
        lines = [self.any(*THROUGH_VIEWS) for _ in range(self.random.randint(1, 3))]
        lines.insert(self.random.randint(0, len(lines)), Statement(f"u0 = {self.filled(self.random.choice(LOOKS), 0)}"))
        return (*lines, Statement("s0 = s0 + u0.sum()"))

    def _alias(self, depth: int) -> tuple[Statement, ...]:
        """A second name for an array, written under both."""
        name = self.random.choice(("v0", "v1", "v2"))
        first, second = ("w0", name) if self.random.random() < 0.5 else (name, "w0")
        changed = Statement(self.filled(self.random.choice(WRITES).replace("w0", name)))
        return Statement(f"{first} = {second} * 1.0"), Statement(f"{second} = {first}"), changed, self.any(*WRITES)

    def _branch(self, depth: int) -> tuple[Statement, ...]:
        parts = [Statement(f"if {self.filled(self.random.choice(TRUTHS))}:", self.block(depth))]
        if self.random.random() < 0.6:
            parts.append(Statement("else:", self.block(depth)))
        return (Statement("if True:", tuple(parts)),)

    def _loop(self, depth: int) -> tuple[Statement, ...]:
        header = self.random.choice((
            "for j in range(3):", "for j in range(i0 % 3):", "for j, e in enumerate(x):", "for j in np.arange(2):",
            "for j, row in enumerate(m0):",
        ))  # fmt: skip
        last = self.any(
            "s0 = s0 * 0.5 + v0[j]", "w0[j] = w0[j] * 0.5 + m0[j, 0]", "w1[j] += x[j] * j", "w0[j:] += x[j]"
        )
        return (Statement(header, (*self.block(0), last)),)

    def _fill(self, depth: int) -> tuple[Statement, ...]:
        """A buffer that begins empty and is filled in a loop."""
        line = self.any(
            "w0[j] = {s} * x[j]", "w0[j] = {v}[j] + (w0[j - 1] if j else 0.0)", "w0[j], s0 = s0, s0 * x[j]",
            "w0[j] = w0[:j].sum() + {s}",
            "w0[j] = np.dot({m}[j], {v})", "w0[j] = max({v}[j], {s})", "w0[j:] = {s}",
        )  # fmt: skip
        made = self.random.choice(("np.empty(3)", "np.empty_like(x)", "np.empty((3,))", "np.ndarray(3)"))
        return Statement(f"w0 = {made}"), Statement("for j in range(3):", (line,)), Statement("v0 = v0 * w0")

    def _recur(self, depth: int) -> tuple[Statement, ...]:
        """Stencils and eliminations, by elements."""
        line = self.any(
            "w1[i, j] += 0.2 * (w1[i - 1, j] + w1[i, j - 1]) * {s}", "w1[i, j] -= w1[i, :j] @ {m}[:j, j]",
            "w1[i, j] = {v}[i] * {v}[j] + w1[j, i] * 0.5",
            "w1[i, j] /= 1.0 + w1[j, j] ** 2", "w1[i, :j] += {s} * w1[j, :j]",
        )  # fmt: skip
        inner = Statement("for j in range(3):", (line,))
        return (Statement("for i in range(3):", (inner,)),)

    def _function(self, depth: int) -> tuple[Statement, ...]:
        local = self.any(
            "return t * {s} if t.sum() > {p} else t - {p}", "w0[0] = t.sum(); return t * 2",
            "t = t.copy(); t[0] = {s}; return t", "return np.stack([t, t]).T[:, 0]",
        )  # fmt: skip
        return (Statement("if True:", (Statement("def local(t):", (local,)), Statement("v1 = local(v0)"))),)

    def _closure(self, depth: int) -> tuple[Statement, ...]:
        """A function that writes into what it finds around itself, and binds it anew."""
        local = self.any("s1 = s1 + e; w0[j] += e", "s1 = e * s1; w0[j:] *= s1", "w0[j], s1 = s1, w0[j] + e")
        put = Statement("def put(j, e):", (Statement("nonlocal s1"), local))
        calls = Statement("for j in range(3):", (Statement(self.filled("put(j, {v}[j])")),))
        return (Statement("if True:", (put, calls)),)

    def _class(self, depth: int) -> tuple[Statement, ...]:
        """An object that keeps arrays and changes them."""
        begin = Statement("def __init__(self, t): self.t, self.seen = t.copy(), np.zeros(3)")
        step = self.any(
            "def step(self, k): self.t[k] = {s}; self.seen += self.t; return self.seen[k]",
            "def step(self, k): self.seen[k:] += self.t[k:]; self.t = self.t * {p}; return self.t.sum()",
            "def step(self, k): part = self.seen[k:]; part[...] = self.t[k] * {s}; return self.seen.sum()",
        )
        use = Statement(self.filled("kept = Kept({v}); s1 = kept.step({k}) + kept.step({k}); v1 = kept.seen"))
        return (Statement("if True:", (Statement("class Kept:", (begin, step)), use)),)

    def _generator(self, depth: int) -> tuple[Statement, ...]:
        """A generator, with a buffer of its own that changes between what it gives."""
        fill = self.any("made[j] = t[j] * {s}", "made += t * {p}", "made[:j] += t[j]")
        loop = Statement(
            "for j in range(3):", (fill, self.any("yield made.sum()", "yield made[j]", "yield made.copy()[0]"))
        )
        each = Statement("def each(t):", (Statement("made = np.zeros(3)"), loop))
        use = self.any("s1 = sum(each({v}))", "v1 = np.array(list(each({v})))", "v1 = np.stack([*each({v})])")
        return (Statement("if True:", (each, use)),)

    def _list(self, depth: int) -> tuple[Statement, ...]:
        line = self.any(
            "l0.append({s})", "l0 = [e * {s} for e in {v}]", "l0 = list({v})", "l0[0] = {s}",
            "l0 = {v}.tolist() and list({v})", "l0 += [{s}, 1.0]", "l0 = [np.sin(e) for e in l0]",
        )  # fmt: skip
        return line, self.any(
            "s1 = np.sum(l0)", "s1 = np.array(l0).mean()", "s1 = sum(l0) / len(l0)", "w0[0] = l0[0]", "s1 = np.max(l0)"
        )

    def _until(self, depth: int) -> tuple[Statement, ...]:
        condition = self.random.choice(
            ("abs(s0) > 0.5", "s0 > p0", "(np.abs(v0) > 1).any()", "np.linalg.norm(v0) > 0.7")
        )
        steps = Statement("v0, s0 = v0 * 0.6, s0 * 0.55")
        return Statement("count = 0"), Statement(
            f"while {condition} and (count := count + 1) < 7:", (steps, *self.block(0))
        )

    def _fail(self, depth: int) -> tuple[Statement, ...]:
        text = self.filled(
            self.random.choice(
                ("raise ValueError(p0)", "s0 = v0[7]", "v0 = v0 + np.ones(2)", "w0[:2] = {v}", "w0[5] = {s}")
            )
        )
        truths = [self.filled(self.random.choice(TRUTHS)) for _ in "ab"]
        return (Statement(f"if {truths[0]} and {truths[1]} and a > 1:", (Statement(text),)),)


def write(seed: int) -> Program:
    """The program of a seed; every fourth goes through numbers of Python."""
    converts = seed % 4 == 3
    g = Grammar(seed, converts)
    body = tuple(s for _ in range(g.random.randint(2, 7)) for s in g.statement(2))
    return Program(seed, body, g.random.choice(RESULTS), converts)
