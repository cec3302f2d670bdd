"""Right and wrong uses of the library, for type checkers: every line marked as an error must be one, and no other."""

from typing import assert_type

import numpy as np
import numpy.typing as npt

import tape
from tape import Tensor

x = tape.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
array: npt.NDArray[np.float64] = np.ones(3)

# Making tensors, calling functions and methods: tensors.

assert_type(x, Tensor)
assert_type(tape.zeros(2, 3, dtype=tape.float32), Tensor)
assert_type(tape.exp(x), Tensor)
assert_type(tape.exp(input=x), Tensor)
assert_type(tape.exp(array), Tensor)
assert_type(tape.atan2(x, 1.0), Tensor)
assert_type(tape.sum(x, dim=0, keepdim=True), Tensor)
assert_type(tape.sum(x, axis=(0, 1), keepdims=True), Tensor)
assert_type(tape.stack([x, x], dim=1), Tensor)
assert_type(tape.vstack((x, x)), Tensor)
assert_type(tape.where(x > 0, x, 0.0), Tensor)
assert_type(x.sum(), Tensor)
assert_type(x.sum(0), Tensor)
assert_type(x.reshape(4).view(2, 2).T, Tensor)
assert_type(x.exp_().add_(1.0), Tensor)
assert_type(x.to(tape.float64).detach().clone(), Tensor)
assert_type(x[0, :1], Tensor)
assert_type(x.real, Tensor)

# Operators.

assert_type(2 * x + x @ x - array[:2], Tensor)
assert_type(-(x**2), Tensor)
assert_type(x > 0, Tensor)
assert_type(x == x, Tensor)
x += 1.0
for row in x:
    assert_type(row, Tensor)

# What gives something else.

assert_type(x.grad, Tensor | None)
assert_type(x.shape, tape.Size)
assert_type(x.size(0), int)
assert_type(x.numel(), int)
assert_type(x.requires_grad, bool)
assert_type(tape.equal(x, x), bool)
assert_type(x.max(), Tensor)
assert_type(x.max(0).indices, Tensor)
assert_type(tape.median(x, dim=0).values, Tensor)
assert_type(tape.sort(x).values, Tensor)
assert_type(tape.split(x, 1)[0], Tensor)
assert_type(tape.linalg.svd(x).S, Tensor)
assert_type(tape.linalg.slogdet(x).logabsdet, Tensor)
assert_type(tape.linalg.norm(x), Tensor)
assert_type(tape.fft.rfft(x, dim=0), Tensor)
assert_type(tape.special.expit(x), Tensor)
assert_type(float(x.sum()), float)
with tape.no_grad():
    pass

# Rooms and programs are exported.

program = tape.record(tape.exp, x)
assert_type(program, tape.Program)
program.save("program.tape")
print(tape.load("program.tape"), tape.compile(tape.exp)(x), tape.vmap(tape.exp)(x), tape.checkpoint(tape.exp, x))
print(tape.func.grad(tape.sum)(x), tape.autograd.grad(x.sum(), x), tape.stop_gradient(x), tape.__version__)

# Compiled functions take and give what the function does; so do compiled methods.


@tape.compile
def scaled(x: Tensor, rate: float) -> Tensor:
    return x * rate


class Model:
    @tape.compile(tier="quick", assume_constant=[np])
    def step(self, x: Tensor, rate: float) -> Tensor:
        return x * rate


assert_type(scaled(x, 0.5), Tensor)
assert_type(Model().step(x, rate=0.5), Tensor)
print(scaled.statistics(), scaled.programs)

# Sizes, one by one or together.

assert_type(tape.zeros(*array.shape), Tensor)
assert_type(tape.zeros(np.int64(3), 2), Tensor)
assert_type(x.view((2, -1)).reshape(x.shape).expand([-1, 2]).permute(1, 0), Tensor)

# Under NumPy's names, arrays.

exponentials: npt.NDArray[np.float64] = tape.numpy.exp(array)
inverse: npt.NDArray[np.floating] = tape.numpy.linalg.inv(np.eye(2))
ufunc_of_a_tensor = np.exp(x)
ufunc_of_a_tensor.backward()

# Wrong.

x.bckward()  # error
x.requires_gard = True  # error
tape.no_such(x)  # error
tape.exp("no")  # error
tape.exp()  # error
tape.exp(x, x)  # error
tape.sum(x, dimm=0)  # error
x.sum(dimm=0)  # error
x.sum(dim="rows")  # error
x.sum(keepdim="yes")  # error
x.add_("one")  # error
x + "one"  # error
print(x.max(0).value)  # error
tape.zeros(2, dtpe=tape.float32)  # error
tape.tensor([1.0], required_grad=True)  # error
tape.linalg.no_such(x)  # error
tape.fft.rfft(x, dimension=0)  # error
word: str = tape.exp(x)  # error
tape.func.no_such(x)  # error
tape.autograd.functional.jacobiann(tape.exp, x)  # error
tape.gradcheck.chek(tape.exp, x)  # error
tape.utils.checkpoints(x)  # error
tape.testing.assert_closer(x, x)  # error
tape.compile(3)  # error
scaled(x)  # error
scaled(x, "fast")  # error
scaled.statistcs()  # error
Model().step(x)  # error
Model().step(x, "fast")  # error
tape.load(3)  # error
tape.zeros("three")  # error
x.reshape("rows")  # error
