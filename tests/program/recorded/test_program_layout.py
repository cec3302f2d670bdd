"""Whether ``reshape`` and ``contiguous`` give a view or a copy is as in eager execution, where it is as memory lies.

So is what tensors that compiled functions return share, and which are one.
"""

import math

import numpy as np
import pytest
from transformed import IN_LANES, cases, check_as_in_eager_execution, check_never_wrong

import tape


def written_in_another_order(x):
    y = x.reshape(2, 2) * 1.0
    y.copy_((x * x).reshape(2, 2).T)
    flat = y.reshape(-1)  # a look, however the list has what was copied
    flat[1:] *= x[0]
    return (y**2).sum()


def one_number_as_a_vector(x):
    y = x.sum()
    flat = y.reshape(-1)
    flat[0].fill_(y.sum())
    return tape.sin(flat * 0.7).sum() + y


def brought_in_order(x):
    y = x.reshape(2, 2) * 1.0
    y.T.contiguous().mul_(3.0)  # a copy
    y.contiguous().mul_(x[0])
    return (y**2).sum()


def itself_brought_in_order(x):
    y = tape.zeros(4)
    y.copy_(x)
    y.contiguous().mul_(x[0])
    return (y**2).sum()


FUNCTIONS = [written_in_another_order, one_number_as_a_vector, brought_in_order, itself_brought_in_order]


@pytest.mark.parametrize(
    ("function", "transformation"), cases(FUNCTIONS, {(itself_brought_in_order, name) for name in IN_LANES})
)
def test_as_in_eager_execution(function, transformation):
    check_as_in_eager_execution(function, transformation)


def turned_and_flattened(x):
    y = (x * 1.0).reshape(2, 2).T
    flat = y.reshape(-1)  # a copy
    flat.mul_(3.0)
    y.mul_(2.0)
    return (y.sum() * flat).sum()


def turned_buffer(x):
    y = tape.from_numpy(np.ones((2, 2)).T)
    y[0] = x[:2]
    flat = y.reshape(-1)  # a copy
    flat.mul_(3.0)
    return (y * y).sum()


@pytest.mark.parametrize("function", [turned_and_flattened, turned_buffer], ids=lambda f: f.__name__)
@pytest.mark.parametrize("transformation", ["itself", "jvp"])
@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_a_copy_is_not_taken_for_a_view(function, transformation):
    check_never_wrong(function, transformation)


@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_a_large_copy_is_not_taken_for_a_view():
    def f(x):
        flat = (x * 2).T.reshape(-1)
        y = x * 2
        own = y.T.reshape(-1)
        own *= 3.0
        return y.sum() + flat.sum()

    x = np.ones((300, 400))
    assert tape.compile(f)(x) == f(x)


def flattened(x):
    y = x * 2
    y.reshape(-1).mul_(3)
    return y * 1


def brought_in_order_and_changed(x):
    v = (x * 1).T.contiguous()
    v.mul_(3)
    return v + x


def argument_in_order(x):
    v = x.T.contiguous()
    v.mul_(3)
    return v + x


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize(
    "function", [flattened, brought_in_order_and_changed, argument_in_order], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("first", ["C", "F"])
def test_arguments_may_lie_otherwise(function, first):
    """Whether ``reshape`` and ``contiguous`` give a view is as the argument lies in memory."""
    fast, other = tape.compile(function), "CF"[first == "C"]
    for order in (first, first, other, first, other):
        x, z = (np.array([[1.0, 2.0], [3.0, 4.0]], order=order) for _ in range(2))
        found, expected = fast(tape.from_numpy(x)), function(tape.from_numpy(z))
        assert found.tolist() == expected.tolist()
        assert x.tolist() == z.tolist()


TURNED = {
    "flip": lambda x: x.flip(0),
    "flip of columns": lambda x: x.T.flip(0),
    "flip both": lambda x: x.flip(0, 1),
    "fliplr": lambda x: x.fliplr(),
    "rot90": lambda x: x.rot90(),
    "flip and part": lambda x: x.flip(1)[1:],
    "exp of columns": lambda x: x.T.exp(),
    "clone of columns": lambda x: x.T.clone(),
}
LOOKS = {
    "contiguous": lambda y: y.contiguous(),
    "reshape": lambda y: y.reshape(-1),
    "columns": lambda y: y.T.reshape(-1),
    "unsqueeze": lambda y: y.unsqueeze(0).contiguous(),
}


def shares(results):
    arrays = [z.detach().numpy() for z in results]
    return [[bool(np.shares_memory(x, y)) for x in arrays] for y in arrays]


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("turn", TURNED)
@pytest.mark.parametrize("shape", [(2, 3), (300, 400)])
def test_a_result_of_an_op_that_gives_no_view_lies_as_eagerly(turn, look, shape):
    def f(x):
        y = TURNED[turn](x)
        return y, LOOKS[look](y)

    def changed(x):
        y, z = f(x)
        z.mul_(2.0)
        return y * 1.0

    fast, fast_changed = tape.compile(f), tape.compile(changed)
    for k in range(3):
        x = tape.linspace(0.0, k + 1.0, math.prod(shape)).reshape(shape)
        assert shares(fast(x)) == shares(f(x))
        assert np.allclose(fast_changed(x).numpy(), changed(x).numpy())


RESHAPED = {
    "of the whole": lambda y: y.split(2)[0],
    "of a part": lambda y: y.split(1)[1],
    "of all axes": lambda y: y.detach(),
    "of a view": lambda y: y[:1],
    "of a row": lambda y: y.unbind(0)[0],
}


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("change", ["unsqueeze_", "t_", "transpose_"])
@pytest.mark.parametrize("kind", RESHAPED)
@pytest.mark.parametrize("which", ["base", "view"])
def test_another_shape_in_place_is_that_of_one_tensor(kind, change, which):
    def f(x):
        y = x * 1.0
        view = RESHAPED[kind](y)
        changed = y if which == "base" else view
        getattr(changed, change)(*{"unsqueeze_": (0,), "t_": (), "transpose_": (0, -1)}[change])
        return y, view, y * 2.0, view * 2.0

    fast = tape.compile(f)
    for k in range(3):
        x = tape.arange(6.0).reshape(2, 3) + k
        found, expected = fast(x), f(x)
        assert [z.tolist() for z in found] == [z.tolist() for z in expected]
        found[0].zero_(), expected[0].zero_()
        assert found[1].tolist() == expected[1].tolist()


def test_one_of_several_views_keeps_its_shape():
    def f(x):
        part = (x * 1.0).split(1)[0]
        part.t_()
        return part

    x = tape.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="one of several views"), pytest.warns(match="another shape in place"):
        tape.compile(f)(x)


TWICE = {
    "view of an argument": lambda x: x[1:],
    "argument": lambda x: x.T,
    "reshaped in place": lambda x: (x * 1.0).unsqueeze_(0),
    "plus": lambda x: +(x * 1.0),
    "of the same kind": lambda x: (x * 1.0).contiguous(),
}


@pytest.mark.parametrize("kind", TWICE)
def test_what_is_returned_twice_is_one_tensor(kind):
    fast = tape.compile(lambda x: [(y := TWICE[kind](x)), y.sum(), y])
    for _ in range(3):
        first, _, last = fast(tape.ones(2, 3))
        assert first is last


def test_plus_is_the_tensor_itself():
    def f(x):
        y = x * 1.0
        z = +y
        z.mul_(2.0)
        return y.sum()

    fast = tape.compile(f)
    assert [fast(tape.ones(3)).item() for _ in range(3)] == [f(tape.ones(3)).item()] * 3
    with pytest.raises(RuntimeError, match="numbers"):
        tape.compile(lambda x: +(x > 0))(tape.ones(3))


PAIRS = {
    "detached twice": lambda y: (y.detach(), y.detach()),
    "data twice": lambda y: (y.data, y.data, y.detach()),
    "nothing squeezed": lambda y: (y.squeeze(), y.squeeze().detach()),
    "nothing squeezed in place": lambda y: (y.squeeze_(), y.detach()),
    "squeezed twice": lambda y: (y.squeeze(), y.squeeze()),
    "squeezed and a part": lambda y: (y.squeeze(), y[0]),
    "apart": lambda y: (y[:1], y[1:]),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_views_of_one_result_share_memory(kind):
    def f(x):
        return PAIRS[kind](x * 2.0)

    fast = tape.compile(f)
    for _ in range(3):
        assert shares(fast(tape.ones(2, 3))) == shares(f(tape.ones(2, 3)))
