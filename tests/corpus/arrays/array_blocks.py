"""Pieces of programs about arrays: of integers and truth values beside floats, of one and three axes, and old methods.

Holes are those of `grammar`.
"""

from __future__ import annotations

ARRAYS = """
n0 = np.array([2, 0, 1])
w0[n0] += {v}[n0 - 1] * n0

n0 = np.argsort({v})
n0[[0, 2]] = n0[[2, 0]]
w0 = w0 + {v}[n0]

k0 = np.zeros(3, dtype=bool)
k0[{k}] = {s} > 0
k0 |= {v} > {s}
w0[k0] += {v}[k0]
w0[~k0] = {s}

n0 = np.zeros(3, dtype=int)
for e in {v}:
    n0[int(abs(e) * 2) % 3] += 1
v1 = {v} * n0 / n0.sum()

(n0,) = np.where({v} > {s})
w0[n0] = {v}[n0] * len(n0)

rows, columns = np.where({m} > {s})
np.add.at(w0, rows, {v}[columns])

for j, k in np.argwhere({m} > {s}):
    w1[j, k] = {s}

n0 = np.flatnonzero({v} < {s})
w0[n0[:1]] -= {s}

wt = w1.T
wt[{k}] = {v}
wt += {m}
wt[1:, 0] *= {s}
w1.T.reshape(-1)[0] = 7.0

z0 = np.zeros(())
z0[...] = {s}
z0 += {s}
s1 = z0 * {s}

q0 = np.zeros((2, 3, 3))
q0[0] = {m}
q0[:, 1] += {v}
q0[..., 0] *= {s}
q0[1, [0, 2]] = {v}
q0.transpose(2, 0, 1)[{k}, 1] -= {v}
m1 = q0.sum(0) + np.einsum('aij,j->ai', q0, {v})[1] + (q0 @ {m})[0]

q0 = np.empty((3, 2), order='F')
q0[:, 0], q0[:, 1] = {v}, {s}
w0 += q0.sum(axis=1) * q0[::-1, 0]

part = w0[[0, 2]]
part += {s}
w0[1] += part[0] * part.size
other = np.array(w0)
other[:] = {s}
w0[0] += other[1]
"""

LINES = """
v1 = np.choose(np.array([0, 2, 1]), [{v}, {v} * {s}, C])
v1 = np.choose(({v} > 0).astype(int), [{v}, -{v}])
v1 = np.select([{v} < {s}, {v} < 1], [w0, {v} ** 2], default={s})
v1 = np.piecewise({v}, [{v} < 0, {v} > 0.5], [lambda e: e * e, {p}, lambda e: -e])
v1 = np.r_[{v}[:2], {s}] + np.r_[0.5, {v}][1:]
m1 = np.c_[{v}, C, np.ones(3)] * {s}
s1 = np.extract({v} > {s}, {v}).sum() + np.compress([True, False, True], {m}, axis=1).sum()
v1 = np.bincount([0, 2, 2], weights={v}, minlength=3)
v1 = np.cumsum({v} > 0) * {v}
v1 = np.histogram([0.1, 0.5, 0.9], bins=3, weights={v})[0] * {s}
s1 = (np.sign({v}) * {v}).sum() + np.heaviside({s}, 0.5) * {s}
s1 = np.add.reduceat({v}, [0, 2])[0] * np.logaddexp({s}, {s})
v1 = np.add.accumulate({v})[::-1] + np.subtract.outer({v}, {v})[{k}]
w0[{i} % 3 :] *= {s}
w0[-2:][::-1][0] = {s}
w1[::-1, ::2][0, 1] = {s}
w1[np.ix_({v} > 0, [0, 1])] *= {p}
w1[..., {k}], w1[{k}, ...] = {v} * 1, {v} * {s}
w1[np.newaxis, {k}][0] += {v}
w1[np.s_[1:, ::2]] = {s}
w1[w1.argmax(axis=0), np.arange(3)] += {v}
np.add.at(w1, (slice(None), [0, 0]), {v}[:, None])
np.put_along_axis(w1, np.argmax({m}, axis=1, keepdims=True), {s}, axis=1)
np.fill_diagonal(w1[:2, 1:], {v}[:2])
np.matmul({m}, w1, out=w1)
np.clip(w1, -{s} ** 2, {s} ** 2 + 1, out=w1)
np.hypot({v}, w0, w0)
np.true_divide(w0, 1.0 + w0 * w0, where={v} > 0, out=w0)
s1 = np.sum({m}, axis=(0, 1), initial={s}) + np.max({v}, initial={s}, where={v} < 1)
s1 = functools.reduce(operator.add, {v}, {s})
s1 = functools.reduce(lambda t, e: t * 0.5 + e * e, {v})
v1 = np.array(list(itertools.accumulate({v}, lambda t, e: t * {s} + e)))
v1 = np.array([operator.mul(e, {s}) for e in map(abs, {v})])
v1 = np.vectorize(lambda e, t: e * t if e > 0 else t, otypes=[float])({v}, {v})
v1 = np.vectorize(lambda row: row.sum() * {s}, signature='(n)->()')({m})
m1 = np.apply_along_axis(lambda row: row / (1 + np.abs(row).sum()), 1, {m})
m1 = np.fromfunction(lambda j, k: j * {s} + k, (3, 3))
m1 = np.apply_over_axes(np.sum, {m}, 0) * {v}
"""

METHODS = """
low = np.zeros((3, 3))
sym = {m} @ {m}.T + 3 * np.eye(3)
for i in range(3):
    for j in range(i + 1):
        rest = sym[i, j] - low[i, :j] @ low[j, :j]
        low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
m1 = low

work, right = {m} + 5 * np.eye(3), {v}.copy()
for i in range(3):
    pivot = i + np.argmax(np.abs(work[i:, i]))
    work[[i, pivot]], right[[i, pivot]] = work[[pivot, i]], right[[pivot, i]]
    for j in range(i + 1, 3):
        ratio = work[j, i] / work[i, i]
        work[j, i:] -= ratio * work[i, i:]
        right[j] -= ratio * right[i]
for i in range(2, -1, -1):
    w0[i] = (right[i] - work[i, i + 1:] @ w0[i + 1:]) / work[i, i]

y, h = {v}.copy(), 0.1
for j in range(2):
    k1 = np.tanh({m} @ y)
    k2 = np.tanh({m} @ (y + h * k1 / 2))
    y = y + h * (k1 + k2 * {s}) / 2
v1 = y

grid = np.zeros((5, 5))
grid[1:-1, 1:-1] = {m}
grid[0, 1:-1] = {v}
for j in range(2):
    grid[1:-1, 1:-1] = 0.25 * (grid[2:, 1:-1] + grid[:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, :-2])
m1 = grid[1:4, 1:4]

t = {v} - {v}.max()
w0[:] = np.exp(t) / np.exp(t).sum()

far = np.sqrt((({v}[:, None] - {v}[None]) ** 2) + 0.1)
np.fill_diagonal(far, np.inf)
v1 = (1 / far).sum(axis=1)

path = [{v}]
for j in range(3):
    path.append(path[-1] + 0.1 * np.cross(path[-1], C) * {s})
v1 = np.array(path)[2]

w0[0] = {v}[0]
for j in range(1, 3):
    w0[j] = 0.7 * w0[j - 1] + {v}[j] if {v}[j] > w0[j - 1] else w0[j - 1] * {s}

lo, hi = -3.0, 3.0
for j in range(6):
    mid = (lo + hi) / 2
    lo, hi = (mid, hi) if mid ** 3 + mid < {s} else (lo, mid)
s1 = {s} * lo

u1, sv, vt = np.linalg.svd({m} + 4 * np.eye(3))
v1 = sv + np.abs(vt[0]) * np.abs(u1[:, 0])

values, vectors = np.linalg.eigh({m} + {m}.T)
v1 = values * np.abs(vectors[:, 0])

hidden = np.maximum(0, {m} @ {v} + {s})
grads = np.zeros_like({m})
for j in range(3):
    grads[j] = hidden[j] * {v} if hidden[j] > 0 else 0
m1 = {m} - 0.1 * grads
"""

NUMBERS = """
s1 = math.sin({s}) / (2 + math.cos({s}))
s1 = math.exp(-abs({s}.item())) ** 0.5 + {s}
s1 = sum(math.cos(e) for e in {v}) * {s}
s1 = max(math.tanh({s}), 0.25, {v}[0].item())
v1 = np.array([math.atan2(e, {s}) for e in {v}.tolist()])
l0 = [math.sin({s}), {s}.item() * 2, 1.0]
w0[:2] = l0[0] * l0[1], math.fsum(l0)
s1 = {s} * ((math.sin({s}) > 0) + ({s}.item() > 0))
v1 = {v} * math.pow(2.0, {s}) if math.sin({s}) > {p} else {v} // 0.3
s1 = round(math.sin({s}), 1) + {v}.tolist()[0] % 0.7 * {s}
s1 = {s}.item() / ({s}.item() ** 2 + 1) - divmod(math.exp({s}), 0.5)[1]
"""
