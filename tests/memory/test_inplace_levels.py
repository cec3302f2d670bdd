"""Every method in place keeps what transformations know: tangents in forward mode, lanes in vmap."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.autograd import forward_ad
from tape.func import jacfwd, jacrev, jvp, vmap

PLACES = tape.tensor([2, 0])
MASK = tape.tensor([True, False, True])
ACTS = {
    "add": lambda x, s: (s,),
    "atan2": lambda x, s: (s,),
    "index_put": lambda x, s: ((PLACES,), s[:2]),
    "index_copy": lambda x, s: (0, PLACES, s[:2]),
    "index_add": lambda x, s: (0, PLACES, s[:2]),
    "index_reduce": lambda x, s: (0, PLACES, s[:2], "prod"),
    "masked_scatter": lambda x, s: (MASK, s),
    "masked_fill": lambda x, s: (MASK, s[0]),
    "put": lambda x, s: (PLACES, s[:2]),
    "scatter": lambda x, s: (0, PLACES, s[:2]),
    "scatter_add": lambda x, s: (0, PLACES, s[:2]),
    "scatter_reduce": lambda x, s: (0, PLACES, s[:2], "amax"),
    "addmv": lambda x, s: (tape.outer(s, s), s),
    "addcmul": lambda x, s: (s, s),
    "lerp": lambda x, s: (s, 0.25),
    "ldexp": lambda x, s: (s,),
}
X, S, S_DOT = np.array([0.5, 1.5, -0.75]), np.array([0.25, 2.0, 1.25]), np.array([1.0, -2.0, 0.5])
IN_VMAP = [name for name in ACTS if name not in ("masked_scatter", "ldexp")]


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize("moves", ["source", "both"])
def test_tangents(name, moves):
    def in_place(x, s):
        y = x.clone()
        assert getattr(y, f"{name}_")(*ACTS[name](y, s)) is y
        return y

    def apart(x, s):
        return getattr(x, name)(*ACTS[name](x, s))

    x, s, s_dot = map(tape.tensor, (X, S, S_DOT))
    if moves == "source":
        results = [jvp(lambda s, f=f: f(x, s), (s,), (s_dot,)) for f in (in_place, apart)]
    else:
        results = [jvp(f, (x, s), (s, s_dot)) for f in (in_place, apart)]
    (z, z_dot), (expected, expected_dot) = results
    assert z.tolist() == expected.tolist()
    assert z_dot.tolist() == expected_dot.tolist()
    assert any(z_dot.tolist())


@pytest.mark.parametrize("name", IN_VMAP)
def test_lanes(name):
    def in_place(x, s):
        y = x.clone()
        return getattr(y, f"{name}_")(*ACTS[name](y, s))

    xs, ss = tape.tensor([X, -X]), tape.tensor([S, S * 2])
    expected = [getattr(x, name)(*ACTS[name](x, s)).tolist() for x, s in zip(xs, ss)]
    np.testing.assert_allclose(vmap(in_place)(xs, ss).numpy(), expected, rtol=1e-14)


def test_random_numbers_do_not_move():
    with forward_ad.dual_level():
        y = forward_ad.make_dual(tape.tensor(X), tape.tensor(S))
        y.normal_()
        assert forward_ad.unpack_dual(y).tangent.tolist() == [0.0, 0.0, 0.0]


RESTRIDED = {
    "t_": (), "transpose_": (0, 1), "swapaxes_": (0, 1), "unsqueeze_": (1,), "squeeze_": (),
    "as_strided_": ((3, 2), (1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", RESTRIDED)
def test_the_shape_in_place(name):
    """It is what the function of that name gives, with its tangent, also when it is then changed."""

    def in_place(x):
        y = x * 1.0
        assert getattr(y, name)(*RESTRIDED[name]) is y
        y[0] = x.sum() ** 2
        return y * y

    def apart(x):
        y = getattr(x * 1.0, name[:-1])(*RESTRIDED[name]).clone()
        y[0] = x.sum() ** 2
        return y * y

    x = tape.tensor(np.arange(6.0).reshape(2, 3))
    (z, z_dot), (expected, expected_dot) = (jvp(f, (x,), (x + 1,)) for f in (in_place, apart))
    assert z.tolist() == expected.tolist()
    assert z_dot.tolist() == expected_dot.tolist()
    assert jacfwd(in_place)(x).tolist() == jacrev(apart)(x).tolist()
    assert jacfwd(jacfwd(in_place))(x).tolist() == jacfwd(jacfwd(apart))(x).tolist()
