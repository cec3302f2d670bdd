"""Pieces of programs with other kinds of numbers and shapes: complex, in single precision, of no element and no axis,
in other orders in memory, given twice; and NumPy's rarer ways to index, to reduce and to join.

Holes are those of `grammar`.
"""

from __future__ import annotations

KINDS_OF_NUMBERS = """
z0 = {v} + 1j * {v}[::-1]
z0[{k}] *= 1j
z0.real += {s}
z0.imag[1:] = {v}[:2]
v1 = np.abs(z0) + (z0 * z0.conj()).real

z0 = np.exp(1j * {v})
s1 = np.vdot(z0, {v} + 0j).real + np.angle(z0[{k}] + 2) * z0.sum().imag

z0 = np.zeros(3, dtype=complex)
z0[:] = {v}
z0[{k}] = 1j * {s}
w0 += np.fft.ifft(np.fft.fft(z0) * np.fft.fft({v})).real

f0 = np.zeros(3, dtype=np.float32)
f0[0] = 0.5
f0 += 0.25
v1 = {v} * f0 + f0.dtype.itemsize

n0 = np.zeros(3, dtype=np.int64)
n0[{v} > {s}] += 2
n0 //= 2
n0[{k}] -= 1
n0 <<= 1
v1 = {v} * n0 + n0 % 3 + (n0 & 1) * {s}

n0 = np.arange(6).reshape(2, 3)
n0 = n0[:, ::-1].T[1:] % 3
m1 = {v}[n0] @ np.ones((2, 3)) * {s}
m1 = np.vstack([m1, {v}])

k0 = ({v} > {s}) ^ ({v} < {p}) | np.isclose({v}, 0.5)
s1 = np.count_nonzero(k0) * {s} + k0.mean() * {s} + np.logical_xor.reduce(k0) * {s}
w0[k0] = 0.25

e0 = {v}[:0]
s1 = e0.sum() + np.prod(e0) * {s} + e0.size + np.max(e0, initial={s}) + np.concatenate([e0, {v}])[{k}]

e0 = np.zeros((0, 3))
for e in ({v}, {v} * 2)[: {i} % 3]:
    e0 = np.vstack([e0, e])
s1 = e0.sum() + len(e0) * {s}

o0 = np.array({s})
o0 *= {s}
o1 = o0[()]
o0[...] = o0 + {v}[{k}]
s1 = o1 * 2 + o0 + o0.item() * 0 if o0.ndim == 0 else o1

o0 = np.zeros(())
np.add(o0, {s}, out=o0)
np.sum({v}, out=o0)
s1 = o0 + o0.reshape(1)[0]
"""

MEMORY = """
def twice(left, right):
    left += right
    right[0] = left[1] * {s}
    return left * right
same = {v} * 1
v1 = twice(same, same)

def shifted(to, of):
    to[...] = of * {s}
    to[1:] += of[:-1]
both = np.append({v}, {s})
shifted(both[1:], both[:3])
v1 = both[1:] + both[0]

wide = np.zeros((3, 6))
wide[:, ::2] = {m}
part = wide[::2, ::2][::-1]
part += {v}
part.T[{k}] *= {s}
m1 = wide[:, :3] + wide.T[3:].T

fort = np.asfortranarray({m})
fort[{k}] = {v}
fort.ravel('F')[1] = 7.0
v1 = fort.ravel('K')[3:6] + fort.flatten('F')[:3] + fort.reshape(-1, order='F')[6:]

low = np.broadcast_to({v}, (2, 3))
try:
    low[0] = 1.0
except ValueError:
    low = low.copy()
    low[0, {k}] = {s}
v1 = low.sum(0)

fixed = {v} * 1
fixed.flags.writeable = False
try:
    fixed[0] = {s}
except ValueError:
    w0[0] = fixed[1] * {s}

pairs = np.lib.stride_tricks.sliding_window_view({v}, 2)
m1 = np.ones((3, 3))
m1[:2, :2] = pairs * {s}
m1 *= {m}

before = w0[1:].copy()
w0[:-1] = w0[1:]
w0[1:] = w0[:-1] * {s}
v1 = w0 + np.r_[before, {s}]

rows = [w1[j] for j in range(3)]
rows[0], rows[1] = rows[1], rows[0]
rows[0][...] = {v}
rows[1] += rows[0]
rows[2] = rows[2] * {s}
m1 = np.array(rows)

a0 = b0 = {v} * 1
a0 = a0 + 1
b0 += {s}
c0 = b0
c0 *= 2
v1 = a0 * b0 - c0

w0[...], w1[0] = w1[0] * {s}, w0 + {v}

stack = np.empty((2, 3))
for row, e in zip(stack, ({v}, {v})):
    np.multiply(e, {s}, out=row)
    row[row > {p}] = {p}
w0 += stack[0] - stack[1] * 0.5

w1[:, 1] = w1[:, 0] + {v}
w1[1] = w1[0] * w1[:, 1]
w1.T[2, 1:] = w1[0, :2]
np.add(w1[1:], w1[:-1], out=w1[1:])
"""

INDEXING = """
w1[np.ix_([0, 2], [2, 1])] += {v}[:2]
s1 = w1[np.ix_(np.array([True, False, True]), [1])].sum()

order = np.argsort({m}, axis=1)
np.put_along_axis(w1, order[:, :1], {v}[:, None], axis=1)
m1 = np.take_along_axis({m}, order[:, ::-1], 1)

n0 = np.array([[0, -1], [-2, 0]])
q0 = {v}[n0] * {s}
w0[n0[0]] += q0[1]
m1[:2, :2] = q0

w1[[0, -1, 1], [-2, 0, 0]] = {v}
w1[-1, ::-2] -= {s}
w1[..., -1:] *= {v}[:, None]

w0[[0, 0, 1]] += {v}
w0[np.array([2, -1])] = {v}[:2]
np.subtract.at(w0, [0, 0, -1], {v})

w1[{v} > {s}, :] = {v}
w1[:, {v} < {p}] *= 2.0
w1[np.where({m} > {s})] = {s}
s1 = w1[np.nonzero(w1 > {p})].sum()

(n0, n1), sign = np.unravel_index([1, 5], (3, 3)), 1.0
w1[n0, n1] = sign * {v}[:2]
s1 = {m}.flat[np.ravel_multi_index(([0, 2], [1, 1]), (3, 3))].sum()

w1[np.diag_indices(3)] += {v}
w1[np.tril_indices_from(w1, -1)] = {s}
w1[np.mask_indices(3, np.triu)] *= {p}

v1 = np.searchsorted(np.sort({v}), {v}) * {s} + np.digitize({v}, [-1.0, 0.5]) * {v}
v1 = v1[np.lexsort(({v}, np.round({v})))]

v1 = np.where({v} > 1, {v}, np.where({v} > 0, {s} * {v}, np.where({v} > -1, w0, 0.25)))

v1 = np.einsum('ij,kj->ki', {m}, {m})[{k}] + np.einsum('i,j->ij', {v}, {v})[0] + np.einsum('ii', {m}) * 0.1

m1 = np.einsum('i,ij,jk->ik', {v}, {m}, {m}, optimize=True) + np.einsum('...j,j->...', {m}, {v})

m1 = np.tensordot({m}, {m}, axes=([0], [1])) + np.tensordot({v}, {v}, 0) + np.inner({m}, {m})
"""

REDUCING = """
v1 = np.add.reduce({m}, axis=1) + np.multiply.reduce({m}, 0) * 0.1 + np.maximum.reduce({m}, axis=-1)

v1 = np.add.accumulate({m}, axis=0)[{k}] + np.multiply.accumulate({v}) + np.minimum.accumulate({v}[::-1])

m1 = np.multiply.outer({v}, {v}) + np.maximum.outer({v}, {v}) * 0.5 + np.hypot.outer({v}, C)

s1 = np.add.reduceat({m}.ravel(), [0, 4, 2]).prod() * 0.1 + np.multiply.reduceat({v}, [0, 1])[0]

s1 = np.logaddexp.reduce({v}) + np.sum({m}, axis=(1, 0)) * 0.1 + np.mean({m}, axis=None, keepdims=True)[0, 0]

v1 = np.max({m}, axis=0, where={m} < 1, initial=-2.0) + np.sum({m}, 1, where={m} > {s}, initial={s})

s1 = np.percentile({v}, 40) + np.quantile({m}, 0.3, axis=0)[{k}] + np.average({v}, weights=np.abs({v}) + 1)

v1 = np.var({m}, axis=0, ddof=1) + np.std({v}) * {s} + np.ptp({m}, axis=1)

v1 = np.trapezoid({m}, dx=0.5, axis=0) + np.diff({m}, 2, axis=1)[:, 0] + np.ediff1d({v}, to_begin={s})

v1 = np.nansum(np.where({m} > 1, np.nan, {m}), axis=0) + np.nanmax({m}, axis=1) + np.nancumsum({v})

v1 = np.dstack([{v}, {v}])[0, :, 1] + np.array_split({m}.ravel(), 4)[0] + np.insert({v}, 1, {s})[:3]

v1 = np.delete({m}, {k}, axis=0)[1] + np.append({m}, [{v}], axis=0)[3] + np.resize({v}[:2], 3)
v1 = v1 + np.roll({m}, 1, (0, 1))[0]

m1 = np.block([[{m}[:1, :1], {m}[:1, 1:]], [{m}[1:, :1], {m}[1:, 1:]]]) + np.tri(3) * {v} + np.vander({v}, 3) * 0.1

v1 = np.linalg.multi_dot([{m}, {m}, {v}]) * 0.1 + np.linalg.matrix_power({m}, 2)[0] * 0.1 + np.linalg.norm({m}, axis=1)

v1 = np.linalg.lstsq({m} + 4 * np.eye(3), {v}, rcond=None)[0] + np.linalg.pinv({m} + 4 * np.eye(3))[0]

low = np.linalg.cholesky({m} @ {m}.T + 3 * np.eye(3))
s1 = np.log(np.diag(low)).sum() + np.linalg.slogdet({m} + 5 * np.eye(3))[1]

q0, r0 = np.linalg.qr({m} + 4 * np.eye(3))
v1 = np.abs(r0).sum(0) + np.abs(q0[0])

v1 = np.polyval([{s}, 0.5, 1.0], {v}) + np.interp({v}, [-3.0, 0.0, 3.0], {v}) + np.convolve({v}, {v}, 'same') * 0.1
"""

ARGUMENTS = """
@dataclasses.dataclass(frozen=True)
class Setup:
    y: np.ndarray
    scale: float
    extra: dict
def solve(setup, *, steps=2):
    y = setup.y
    for j in range(steps):
        y = y * setup.scale + setup.extra['add'][j]
    return y
v1 = solve(Setup({v}, {s}, {'add': [{v}, {s}]}))

def tree(node):
    if isinstance(node, dict):
        return sum(tree(node[key]) for key in sorted(node))
    if isinstance(node, (tuple, list)):
        return sum(map(tree, node))
    return np.sum(node) * 0.5
s1 = tree({'a': ({v}, [{s}, {m}]), 'b': {'c': {s}}})

def compose(*fs):
    return functools.reduce(lambda f, g: lambda t: g(f(t)), fs)
v1 = compose(np.tanh, lambda t: t * {s}, np.cumsum)({v})

def bisect(f, lo, hi):
    while hi - lo > 0.25:
        mid = 0.5 * (lo + hi)
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
    return lo
s1 = bisect(lambda t: t ** 3 - t * {s} - 0.3, -2.0, 2.5) * {s}

def newton(t, most=6):
    for j in range(most):
        step = (t ** 2 - {s} ** 2 - 1) / (2 * t)
        t = t - step
        if np.abs(step) < 1e-2:
            return t, j
    raise RuntimeError('no root')
try:
    s1, count = newton({s} + 3.0)
except RuntimeError:
    s1, count = {s}, 0
w0[count % 3] += s1

cache = {}
def lookup(j):
    try:
        return cache[j]
    except KeyError:
        cache[j] = {v}[j] * {s} + (lookup(j - 1) if j else 0.0)
        return cache[j]
s1 = lookup(2) + lookup(1)

def pairs(t):
    for j, e in enumerate(t):
        for other in t[j + 1:]:
            if e * other > 0:
                yield e * other
s1 = sum(pairs({v})) + max(pairs(np.abs({v}) + 1), default=0.0)

total, j = 0.0, 0
while j < 3 and total < {p} + 2:
    total += {v}[j] ** 2
    j += 1
s1 = total * j

best, at = -np.inf, None
for j, e in enumerate({v}):
    if e > best:
        best, at = e, j
w0[at] = best * {s}

seen = set()
for j in np.argsort({v}).tolist():
    seen.add(j % 2)
    w0[j] += len(seen) * {s}
"""
