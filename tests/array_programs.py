"""Programs of an array ``x``, by what they are about: each is to give on recorded arrays what NumPy gives."""

from __future__ import annotations

ATTRIBUTES = """
x.shape | x.dtype | x.ndim | x.size | x.itemsize | x.nbytes | x.strides | x.T | x.mT | x.real | x.imag | len(x)
x.flags.c_contiguous | x.flags.f_contiguous | x.flags.writeable | x.flags.owndata | x.T.flags.f_contiguous
x.T.flags.c_contiguous | x[::2].flags.c_contiguous | x.T.strides | x.base is None | x.copy('F').flags.f_contiguous
x.copy('F').strides | x.copy('K').strides | x.T.copy().strides | x.T.copy('K').strides | x.T.copy('A').strides
x.astype('f4', order='F').strides | np.copy(x, order='F').strides | np.copy(x.T).strides | x.device
x.to_device('cpu') is x | x.__array_priority__ | x.__array_namespace__().pi | x.foo | x() | x.flat[0] | x.flat[-1]
x.flat[1:3] | x.flat[[0, 1]] | list(x.flat) | len(x.flat) | x.flat.copy() | x.flat.index | x.flat.coords | next(x.flat)
x.flat == 1 | x.flat[99] | x.flat[x.ravel() > 0] | sum(x.flat) | max(x.flat) | x.flat.base is x
"""

METHODS = """
list(x) | copy.copy(x) | copy.deepcopy(x) | x.copy() | x.astype(int) | x.astype('f4') | x.astype(complex)
x.astype(bool) | x.astype(np.float64, copy=False) is x | x.astype(np.float16) | x.astype(float, casting='safe')
x.astype(int, casting='same_kind') | x.sum() | x.sum(0) | x.sum(axis=-1, keepdims=True) | x.sum(dtype=np.float32)
x.sum(axis=(0, 1)) | x.sum(initial=2) | x.sum(where=x > 0) | x.prod() | x.prod(1) | x.mean() | x.mean(0)
x.mean(dtype='f4') | x.var() | x.std() | x.std(axis=1, keepdims=True) | x.max() | x.max(0) | x.min() | x.min(axis=-1)
x.all() | x.all(0) | x.any() | x.any(axis=0, keepdims=True) | x.argmax() | x.argmax(0) | x.argmin()
x.argmin(axis=-1, keepdims=True) | x.argsort() | x.argsort(0) | x.argsort(axis=None) | x.argpartition(1) | x.cumsum()
x.cumsum(0) | x.cumsum(dtype='f4') | x.cumprod() | x.cumprod(-1) | x.trace() | x.trace(1) | x.dot(x) | x.dot(2)
x.dot(x.T) | x.repeat(2) | x.repeat([1, 0, 2]) | x.take([0, 1]) | x.take(0) | x.take([0, -1], axis=0) | x.take([9])
x.compress([True, False]) | x.compress([1, 0], axis=0) | x.nonzero() | x.searchsorted(1.0)
x.searchsorted([0., 1.], side='right') | x.round() | x.round(1) | x.clip(0, 1) | x.clip(min=0) | x.clip(max=1)
x.conj() | x.conjugate() | x.diagonal() | x.diagonal(1) | x.ravel() | x.flatten() | x.ravel('F') | x.flatten('F')
x.T.ravel('K') | x.T.ravel('A') | x.T.flatten('A') | x.T.flatten('K') | x.T.reshape(-1, order='A') | x.reshape(-1)
x.reshape(3, 2) | x.reshape((2, 3)) | x.reshape((3, 2), order='F') | x.reshape(7) | x.squeeze() | x.squeeze(0)
x.swapaxes(0, 1) | x.transpose() | x.transpose(1, 0) | x.transpose((1, 0)) | x.transpose(0) | x.view() | x.ptp()
x.reshape(-1, copy=True) | x.T.reshape(-1, copy=False) | x.itemset(0, 1) | x.newbyteorder()
x.item(None) | x.item([0]) | x.item(1.5) | x.compress(1) | x.compress([[True]]) | x.copy(1) | x.flatten(2) | x.fill([1])
"""

OPERATORS = """
-x | +x | abs(x) | ~x | x + 1 | 1 + x | x - 1.5 | 2 - x | x * x | x / 2 | 1 / x | x // 2 | 7 // x | x % 2 | 2 % x
x ** 2 | 2 ** x | x ** 0.5 | divmod(x, 2) | divmod(7, x) | x @ x | x @ x.T | x @ 2 | [1, 2, 3] @ x | x << 1 | x & 1
x | x ^ True | x == x | x != x | x < x | x >= 1 | x == None | x != 'a' | x == 'a' | x < 'a' | x == [1, 2] | x is None
x + 'a' | x + None | 'a' + x | [1] + x | x + [1] | (1, 2, 3) + x | x * (1, 2, 3) | x * 'ab' | [1, 2] * x | x < [1]
x and 1 | x or 1 | not x | bool(x) | float(x) | int(x) | complex(x) | operator.index(x) | round(x) | round(x, 1)
math.floor(x) | math.ceil(x) | math.trunc(x) | hash(x) | repr(x) | str(x) | f'{x}' | f'{x:.3f}' | '%s' % x | '%.3f' % x
1.5 in x | x in [x] | pow(x, 2) | pow(x, 2, 3) | sum(x) | max(x) | min(x) | sorted(x) | next(iter(x))
list(reversed(x)) | list(zip(x, x)) | tuple(x) | isinstance(x, np.ndarray) | isinstance(x, np.generic)
isinstance(x, float)
isinstance(x, int) | x + 1j | x * True | x + np.float32(1) | x + np.arange(3) | np.arange(3) * x | np.float64(2) * x
x.is_integer() | x.hex() | {x: 1} | x[...] | x[0] | x[-1] | x[1:] | x[::-1] | x[..., 0] | x[None] | x[()] | x[0, 0]
x[:, 1] | x[[0, 1]] | x[x > 0] | x[[True, False, True]] | x[np.array([0, -1])] | x[9] | x[1.5] | x['a'] | x[[]]
x[0][0] | x[None, ..., None] | x[[0], [1]] | x[:, [0, 1]] | x[np.newaxis, 0] | x[True] | x[np.int64(0)]
x[[[0, 1], [1, 0]]]
"""

WRITES = """
x[0] = 5.0 | x[...] = 2 | x[()] = 3 | x[:] = 1 | x[::2] = 7 | x[-1] += 1 | x[x > 0] = 0 | x[x > 0] *= 2 | x[[0, 1]] = 9
x[0, 0] = 4 | x[0, ...] = 4 | x[:, 1] = [1, 2] | x[None, 0] = 3 | x[[0, 0]] += 1 | x += 1 | x -= 2 | x *= 2 | x /= 2
x **= 2 | x //= 2 | x %= 2 | x <<= 1 | x &= 1 | x ^= 1 | x @= x | x += 1.5 | x += 1j | x += [1, 2, 3]
x += np.ones((4, 4)) | x[0] = 1j | x[0] = 'a' | x[0] = None | x[9] = 1 | x['a'] = 1 | x[1.5] = 1 | x.flat[0] = 5
x.flat[::2] = 5 | x.flat[[0, 1]] = [7, 8] | x.flat = 3 | x.flat = [1, 2] | x.flat[:] = [1, 2] | x.shape = (3, 2)
x.shape = -1 | x.shape = (7,) | x.real = 2 | x.imag = 2 | x.T = x | x.T[0] = 5 | x.ravel()[0] = 5 | x.T.ravel()[0] = 5
x.reshape(-1)[0] = 6 | x.real[...] = 3 | y = x.T.copy(); y.ravel()[0] = 3; r = y | y = x.T * 2; y.ravel()[0] = 3; r = y
y = np.copy(x.T); y.ravel()[0] = 3; r = y | y = np.array(x.T); y.ravel()[0] = 3; r = y
y = np.zeros_like(x.T); y.ravel()[0] = 3; r = y | y = np.ascontiguousarray(x.T); y.ravel()[0] = 3; r = y
y = np.asfortranarray(x); y.ravel()[0] = 3; r = y | y = np.array(x, order='F'); y.ravel()[0] = 3; r = y
y = x.swapaxes(0, 1); y[0] = 7 | y = x.squeeze(); y[...] = 7 | y = np.atleast_2d(x); y[0, 0] = 7
y = np.broadcast_to(x, (2,) + x.shape); y[0] = 1 | y = x.diagonal(); y[0] = 1 | y = x[x > 0]; y[...] = 3
y = x[[0]]; y[...] = 3 | y = x[0]; x[0] = 9; r = y | y = x[0:1]; x[0] = 9; r = y | y = x.flatten(); y[0] = 9
y = x.view(); y[0] = 9 | y = np.asarray(x); y[0] = 9 | y = x; y += 1; r = x | y = x; y = y + 1; r = x
x.setflags(write=False); x[0] = 1 | del x[0]
"""

CHANGES = """
x.fill(3) | x.put([0, 1], [5, 6]) | x.put([0, 9], 5) | x.put([0, 9], 5, mode='wrap') | x.put([0, -9], 5, mode='clip')
x.sort() | x.sort(0) | x.sort(axis=None) | x.partition(0, axis=0) | x.resize(2) | np.put(x, [0], 5)
np.place(x, x > 0, [7, 8]) | np.place(x, x > 0, []) | np.putmask(x, x > 0, [1, 2]) | np.copyto(x, 1)
np.copyto(x, 2, where=x > 0) | np.copyto(x, 1j) | np.copyto(x, [1, 2, 3]) | np.copyto(x, 1.5)
np.fill_diagonal(x, 5) | np.fill_diagonal(x, [1, 2]) | np.fill_diagonal(x, 7, wrap=True)
np.put_along_axis(x, x.argmax(-1)[..., None], 5, -1) | np.put_along_axis(x, np.zeros((1, 1), int), 5, 1)
np.add.at(x, [0, 0], 1) | np.add.at(x, 0, [1, 2]) | np.subtract.at(x, [0, 1], [1, 2]) | np.multiply.at(x, (0, 1), 2)
np.negative.at(x, [0, 0]) | np.maximum.at(x, [0, 1], 0) | np.add.at(x, [0, 9], 1) | np.add.at(x, slice(0, 2), 1)
np.add.at(x, x > 0, 1) | np.add.at(x, [0, 0], 1.5) | np.exp(x, out=x) | np.add(x, 1, out=x) | np.add(x, 1, x)
np.add(x, 1, out=(x,)) | np.add(x, 1, out=x, where=x > 0) | np.sum(x, out=x) | x.clip(0, 1, out=np.zeros(3))
x.sum(out=np.zeros(())) | x.mean(0, out=np.zeros(3)) | np.sqrt(x, out=np.zeros((2, 3)))
np.sqrt(x, out=np.zeros((2, 2, 3))) | np.concatenate([x, x], out=np.zeros(6)) | np.add.reduce(x)
np.add.reduce(x, axis=None) | np.add.accumulate(x) | np.add.outer(x, x) | np.multiply.reduce(x, 0)
np.vectorize(lambda a: a * 2)(x) | np.vectorize(lambda a, b: a + b)(x, 1) | np.vectorize(lambda a: (a, a * 2))(x)
np.vectorize(lambda a: a, otypes=[float])(x) | np.apply_along_axis(lambda r: r.sum(), 0, x)
np.apply_along_axis(lambda r: r * 2, -1, x) | np.apply_along_axis(np.sort, 0, x) | np.apply_over_axes(np.sum, x, [0, 1])
np.apply_along_axis(np.outer, 0, x, [1, 2]) | np.piecewise(x, [x < 0], [0, 1])
np.select([x < 0, x > 1], [x, 2 * x], 0)
"""

FUNCTIONS = """
np.sin(x) | np.exp(x) | np.abs(x) | np.sum(x) | np.sum(x, axis=0) | np.mean(x, 0) | np.ptp(x) | np.average(x)
np.cumsum(x) | np.cumprod(x, 0) | np.ediff1d(x) | np.trapezoid(x) | np.dot(x, x) | np.vdot(x, x) | np.inner(x, x)
np.outer(x, x) | np.matmul(x, x) | np.tensordot(x, x, 1) | np.einsum('i,i', x, x) | np.einsum('ij->i', x)
np.kron(x, x) | np.linalg.norm(x) | np.linalg.norm(x, axis=0) | np.linalg.det(x) | np.linalg.inv(x)
np.linalg.solve(x, x) | np.linalg.eigh(x) | np.linalg.qr(x) | np.linalg.slogdet(x) | np.trace(x) | np.reshape(x, -1)
np.reshape(x, (3, 2), order='F') | np.ravel(x) | np.ravel(x[::2]) | np.ravel(x, 'F') | np.transpose(x)
np.moveaxis(x, 0, -1) | np.swapaxes(x, 0, -1) | np.expand_dims(x, 0) | np.squeeze(x) | np.atleast_1d(x)
np.atleast_2d(x) | np.atleast_3d(x) | np.broadcast_to(x, (2,) + x.shape) | np.broadcast_arrays(x, x)
np.concatenate([x, x]) | np.concatenate([x, x], axis=None) | np.stack([x, x]) | np.stack([x, x], -1) | np.vstack([x, x])
np.hstack([x, x]) | np.dstack([x, x]) | np.column_stack([x, x]) | np.block([x, x]) | np.append(x, 1)
np.split(x, 1) | np.array_split(x, 2) | np.hsplit(x, 1) | np.tile(x, 2) | np.repeat(x, 2) | np.flip(x) | np.flip(x, 0)
np.fliplr(x) | np.flipud(x) | np.roll(x, 1) | np.roll(x, 1, 0) | np.rot90(x) | np.pad(x, 1) | np.pad(x, 1, mode='edge')
np.delete(x, 0) | np.unique(x) | np.sort(x) | np.sort(x, axis=None) | np.sort(x, 0) | np.argsort(x, axis=None)
np.searchsorted(x, 1) | np.where(x > 0, x, 1) | np.where(x > 0) | np.nonzero(x) | np.flatnonzero(x) | np.argwhere(x)
np.count_nonzero(x) | np.any(x) | np.all(x) | np.isclose(x, x) | np.allclose(x, x) | np.array_equal(x, x)
np.isnan(x) | np.isfinite(x) | np.sign(x) | np.maximum(x, 0) | np.minimum(x, 1) | np.fmax(x, 0) | np.clip(x, 0, 1)
np.round(x, 1) | np.floor(x) | np.rint(x) | np.mod(x, 2) | np.fmod(x, 2) | np.float_power(x, 2) | np.square(x)
np.sqrt(np.abs(x)) | np.hypot(x, 1) | np.arctan2(x, 1) | np.heaviside(x, 0.5) | np.logaddexp(x, 1) | np.nansum(x)
np.nan_to_num(x) | np.nanmean(x) | np.nanmax(x) | np.interp(x, [0, 1], [1, 2]) | np.convolve(x, [1, 2]) | np.fft.fft(x)
np.polyval([1, 2], x) | np.meshgrid(x, x) | np.diag(x) | np.tril(x) | np.triu(x) | np.take(x, [0], axis=0)
np.take_along_axis(x, np.argsort(x), -1) | np.choose([0, 1], [x, x]) | np.compress([True], x) | np.extract(x > 0, x)
np.select([x > 0], [x]) | np.argmax(x) | np.argmin(x, 0) | np.max(x) | np.amax(x, 0) | np.prod(x) | np.var(x)
np.real(x) | np.imag(x) | np.angle(x) | np.conj(x) | np.iscomplexobj(x) | np.isscalar(x) | np.ndim(x) | np.shape(x)
np.size(x) | np.result_type(x, 1) | np.zeros_like(x) | np.full_like(x, 2) | np.copy(x) | np.array(x)
np.asarray(x) is x | np.array([x, x]) | np.array([x[0], 1.0]) | np.asarray([x, x]) | np.array(x, dtype='f4')
np.array(x, ndmin=3)
np.full(2, x) | np.arange(x.size) | np.array2string(x) | np.array_repr(x) | np.array_str(x) | np.shares_memory(x, x)
np.isin(x, [1]) | np.copysign(x, -1) | np.modf(x) | np.bitwise_and(x, 1) | np.invert(x) | np.logical_and(x, x)
np.ediff1d(x, [1], 0) | np.gradient(x) | np.poly(x) | np.polymul([0, 1], x) | np.polymul(x, x - x) | np.roots(x)
np.corrcoef(x) | np.angle(x, True) | np.var(x, mean=0.5) | np.std(x, 0, mean=x.mean(0)) | np.sort_complex(x)
np.emath.sqrt(x) | np.broadcast_to(x, (2,) + x.shape).ravel('K') | np.cross(x, x)
np.roll(x.sum(), 1) | np.zeros_like(x.sum()) | np.full_like(x.sum(), 2) | np.block(x.sum()) | np.i0(x.real.sum())
np.resize(x.sum(), ()) | np.tile(x.sum(), ()) | np.pad(x.sum(), 0) | np.broadcast_to(x.sum(), ())
np.real_if_close(x.real.sum()) | np.reshape(x.sum(), ()) | x.sum().squeeze() | x.sum().view()
np.linalg.tensordot(x, x)
np.einsum('i,i', x, x, optimize=True) | np.einsum('i,i,i', x, x, x, optimize='greedy')
np.einsum('i->', x, optimize=True)
np.einsum(x, [0], x, [0], optimize=True) | y = np.zeros_like(x.sum()); z = y; y += x.sum(); r = z
x.view('f8') | x.view('c16') | x[:, :1].view('c16') | x.view('f4').shape | y = x.view('c16'); y *= 1j
np.equal(x, x) | np.permute_dims(x) | np.matrix_transpose(x) | np.concat([x, x]) | np.unstack(x) | np.astype(x, 'f4')
"""

NUMBERS = """
x + 1 | x * 2.5 | 1 / x | x ** 2 | 2 ** x | x // 2 | divmod(x, 2) | -x | abs(x) | x + 'a' | x + [1] | [1] + x
x * (1, 2) | 'ab' * x | x == x | x != 1 | x < 2 | x == 'a' | bool(x) | float(x) | int(x) | complex(x)
operator.index(x) | round(x)
round(x, 1) | math.floor(x) | math.ceil(x) | math.sqrt(abs(x)) | hash(x) == hash(x.item())
f'{x:.3f}' | '%.2f' % x | str(x) | repr(x) | f'{x}' | len(x) | list(x) | x[0] | x[()] | x[...] | x[None] | 1 in x
x.reshape(1) | x.ravel() | x.T | x.sum() | x.max() | x.item() | x.tolist() | x.shape | x.dtype | x.size | x.ndim
isinstance(x, np.ndarray) | isinstance(x, np.generic) | isinstance(x, np.floating) | isinstance(x, float)
isinstance(x, int) | sum([x, x]) | max([x, 1]) | min(x, 2) | sorted([x, 0]) | np.sin(x) | np.array([x, x]) | x.copy()
x.astype(int) | x.conj() | x.real | x.imag | np.atleast_1d(x) | range(x) | [1, 2, 3][x] | {x: 1}[x] | x and 1
x.flags.writeable | x[0] = 1 | x[...] = 1 | x += 1; r = x | y = x.reshape(1); y[0] = 9; r = x
y = np.atleast_1d(x); y[0] = 9; r = x | y = x[None]; y[0] = 9; r = x | y = x.ravel(); y[0] = 9; r = x
"""


def programs(text: str) -> list[str]:
    """The programs of one of the texts above."""
    found = [p.strip() for line in text.strip().splitlines() for p in line.split(" | ")]
    return ["\n".join(part.strip() for part in p.split(";")) for p in found]
