"""Results of compiled functions lie in memory as those of the functions themselves, for arguments in every layout."""

import numpy as np
import pytest

import tape

ROUNDS = 3
OFTEN = 300
"""So many calls that a plan and an entry are made."""

TENSORS = {
    "exp": lambda x: x.exp(),
    "transposed": lambda x: x.t().exp(),
    "transposed at last": lambda x: x.exp().t(),
    "gaps": lambda x: x.exp()[::2],
    "gaps in columns": lambda x: (x * 2).t()[::2],
    "column": lambda x: x.exp()[:, 1],
    "product": lambda x: x * x.sum(0, keepdim=True),
    "one number": lambda x: x.sum().expand(3, 2),
    "turned": lambda x: x.flip(0),
    "matrix product": lambda x: (x @ x.t()).t(),
    "accumulated": lambda x: x.cumsum(0),
    "sorted": lambda x: x.sort(0)[0],
    "joined": lambda x: tape.cat([x, x], 1),
    "cloned": lambda x: x.clone(),
    "chosen": lambda x: tape.where(x > 0, x, -x),
    "changed": lambda x: (x * 1).mul_(2),
    "several": lambda x: (x.t() * 2, x.exp(), x.sum()),
    "pieces": lambda x: x.exp().chunk(2, 1)[0],
}
ARRAYS = {
    "conj": np.conj,
    "sort": np.sort,
    "remainder": lambda x: x % 2,
    "transposed": lambda x: np.exp(x).T,
    "gaps": lambda x: np.exp(x)[::2],
    "turned": lambda x: np.exp(x)[::-1],
    "accumulated": lambda x: np.cumsum(x, 0),
    "copied": lambda x: x.copy(),
    "copied as it lies": lambda x: x.copy("K"),
    "one number": lambda x: np.broadcast_to(x.sum(), (3, 2)),
    "contraction": lambda x: np.einsum("ij,kj->ki", x, x),
    "by columns": lambda x: np.asfortranarray(x * 2),
    "where": lambda x: np.where(x > 0, x, -x),
    "columns": lambda x: x.T + 1,
    "products in columns": lambda x: x.T * x[:, 0] - x[0][:, None],
    "row by row": lambda x: x - x.mean(1, keepdims=True),
    "sorted columns": lambda x: np.sort(x.T, 0),
    "accumulated columns": lambda x: np.cumsum(x.T, 0),
    "joined columns": lambda x: np.concatenate([x.T, x.T], 1),
    "reduced": lambda x: np.stack([x, x], 2).transpose(2, 1, 0).sum(0) * 1,
    "product of matrices": lambda x: (x @ x.T).T * 2,
    "picked": lambda x: x.T[:, [1, 2, 0]] * 2,
    "triangular": lambda x: np.linalg.qr(x.T)[1] + 1,
    "written": lambda x: written(x.T * 1),
    "gradient": tape.func.grad(lambda x: (np.sin(x.T) * x[0, 0]).sum()),
    "in lanes": tape.func.vmap(lambda x: x * x.sum(), 1),
    "three axes": lambda x: np.transpose(np.exp(x)[None] * x, (1, 0, 2)),
}


def written(x):
    x[0] = 3.0
    x[:, 1] += 2.0
    return x


LAYOUTS = ["rows", "columns", "gaps", "backwards"]
SHAPES = [(4, 6), (200, 260)]


def lying(layout, shape):
    x = np.random.default_rng(0).normal(size=shape)
    if layout == "columns":
        return np.asfortranarray(x)
    if layout == "gaps":
        return np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2]
    return x[::-1].copy()[::-1] if layout == "backwards" else x


def layout(result):
    """The numbers of a result and how they lie; axes of length 1 lie anyhow."""
    if isinstance(result, tuple):
        return tuple(map(layout, result))
    x = result.numpy() if isinstance(result, tape.Tensor) else np.asarray(result)
    return [step for step, n in zip(x.strides, x.shape) if n > 1], (x.ravel("K").round(9) + 0).tobytes()


def check(function, arguments, rounds=ROUNDS):
    """Calls with several layouts in turn, of each of which results lie as they do eagerly."""
    fast, expected = tape.compile(function), [layout(function(x)) for x in arguments]
    for _ in range(rounds):
        assert [layout(fast(x)) for x in arguments] == expected


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("function", ARRAYS.values(), ids=ARRAYS)
def test_arrays_lie_as_numpys(function, other, shape):
    check(function, [lying("rows", shape), lying(other, shape)])
    check(function, [lying(other, shape), lying("rows", shape)])


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("other", LAYOUTS[:3])
@pytest.mark.parametrize("function", TENSORS.values(), ids=TENSORS)
def test_tensors_lie_as_eagerly(function, other, shape):
    check(function, [tape.from_numpy(lying(layout, shape)) for layout in ("rows", other)])
    check(function, [tape.from_numpy(lying(layout, shape)) for layout in (other, "rows")])


@pytest.mark.parametrize("function", TENSORS.values(), ids=TENSORS)
def test_tensors_lie_so_however_they_are_called(function):
    check(function, [tape.from_numpy(lying("rows", (4, 6)))], OFTEN)


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("function", ARRAYS.values(), ids=ARRAYS)
def test_arrays_lie_so_however_they_are_called(function):
    check(function, [lying("rows", (4, 6)), lying("columns", (4, 6))], OFTEN)


def test_a_copy_is_a_copy_as_eagerly():
    """What the caller does afterwards shows in the result, or does not, as where nothing is compiled."""

    def changed(function):
        z = function(tape.arange(12.0).reshape(4, 3))
        z.reshape(-1).mul_(0)
        return z.tolist()

    def f(x):
        return x.t() * 2

    assert changed(tape.compile(f)) == changed(f)


def test_for_ever_other_layouts_it_runs_as_it_is():
    fast = tape.compile(lambda x: x * 2, most_paths=3)
    columns = [np.arange(12.0 * k).reshape(4, 3 * k)[:, ::k] for k in range(2, 12)]
    with pytest.warns(RuntimeWarning, match="what it gives depends on how arguments lie in memory"):
        found = list(map(fast, columns))
    assert list(map(layout, found)) == [layout(x * 2) for x in columns]
    assert len(fast.programs) < 6


@pytest.mark.parametrize("reads", [lambda x: x.sum(), lambda x: x.sum(0), lambda x: (x * x).mean(1)])
def test_one_program_is_for_all_layouts_where_results_have_but_one(reads):
    fast = tape.compile(reads)
    for layout in LAYOUTS:
        np.testing.assert_allclose(fast(lying(layout, (4, 6))), reads(lying(layout, (4, 6))))
    assert len(fast.programs) == 1


ASKING = {
    "flattened as it lies": lambda x: np.ravel(x, "K") * 2,
    "reshaped as it lies": lambda x: np.reshape(x, -1, order="A") * 2,
    "whether in rows": lambda x: x * 2 if x.flags.c_contiguous else x * 3,
    "strides": lambda x: x * float(x.strides[0]),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("function", ASKING.values(), ids=ASKING)
def test_what_depends_on_how_arguments_lie_is_compiled_for_those_in_rows(function, first, other):
    arguments = [lying(first, (4, 6)), lying(other, (4, 6))]
    fast, expected = tape.compile(function), [layout(function(x)) for x in arguments]
    for _ in range(ROUNDS):
        assert [layout(fast(x)) for x in arguments] == expected
    assert len(fast.programs) == (first == "rows")


@pytest.mark.parametrize("tracked", [(False, True), (True, False)])
@pytest.mark.parametrize("first", LAYOUTS[:3])
@pytest.mark.parametrize("other", LAYOUTS[:3])
def test_programs_for_histories_are_for_layouts_as_well(tracked, first, other):
    """Each is recorded once, whatever came first."""

    def f(x):
        w = (x * 2).detach().requires_grad_(True)
        (g,) = tape.autograd.grad((w * w * x).sum(), w)
        return g * x

    calls = [(o, t) for t in tracked for o in (first, other)]
    arguments = [tape.from_numpy(lying(o, (4, 6))).requires_grad_(t) for o, t in calls]
    fast = tape.compile(f)
    for _ in range(ROUNDS):
        for x in arguments:
            assert fast(x).tolist() == f(x).tolist()
    assert len(fast.programs) == 2 * (1 + (first != other))


RECORDED = ASKING | {"columns": ARRAYS["columns"], "sorted columns": ARRAYS["sorted columns"], "where": ARRAYS["where"]}


def again(program, folder):
    program.save(folder / "it.tape")
    return tape.load(folder / "it.tape")


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("order", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_program_gives_what_lies_as_recorded_and_refuses_where_numbers_depend(
    name, shape, order, loaded, tmp_path
):
    function = RECORDED[name]
    if name in ASKING and order != "rows":
        with pytest.raises(tape.program.Untraceable, match="which is not in row-major order"):
            tape.record(function, lying(order, shape))
        return
    program = tape.record(function, lying(order, shape))
    program = again(program, tmp_path) if loaded else program
    for _ in range(OFTEN if shape == SHAPES[0] else ROUNDS):
        assert layout(program(lying(order, shape))) == layout(function(lying(order, shape)))
    recorded = layout(function(lying(order, shape)))
    for other in LAYOUTS:
        if name not in ASKING:
            found = program(lying(other, shape))
            assert layout(found) == recorded
            np.testing.assert_array_equal(found, function(lying(other, shape)))
        elif other != order:
            with pytest.raises(TypeError, match=r"lie in .* in memory, on which .* depends(.|\n)*tape.compile"):
                program(lying(other, shape))


def test_a_recorded_program_takes_arguments_in_every_layout_where_that_does_not_matter():
    program = tape.record(lambda x, v: (x * x).sum(0) * v[0], lying("rows", (4, 6)), np.ones(2))
    for other in LAYOUTS:
        program(lying(other, (4, 6)), np.ones(4)[::2])
    program = tape.record(lambda x, v: x * v[0], lying("rows", (4, 6)), np.ones(2))
    assert layout(program(lying("rows", (4, 6)), np.ones(4)[::2])) == layout(lying("rows", (4, 6)))


def test_a_file_in_which_a_result_has_other_axes_is_refused(tmp_path):
    program = tape.record(lambda x: x.T * 2, np.ones((2, 3)))
    program.layouts = ((0, (8, 16, 24)),)
    with pytest.raises(tape.program.ProgramFileError):
        again(program, tmp_path)


@pytest.mark.filterwarnings("ignore:tape.compile runs", "ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5
@pytest.mark.parametrize("first", [0, 1])
def test_whether_a_shape_can_be_set_depends_on_how_arguments_lie(first):
    def f(x):
        y = x * 1
        y.shape = (-1,)
        return y.sum()

    fast, arguments = tape.compile(f), [lying("rows", (4, 6)), lying("columns", (4, 6))]
    for _ in range(ROUNDS):
        for x in arguments[first:] + arguments[:first]:
            if x is arguments[0]:
                np.testing.assert_allclose(fast(x), x.sum())
            else:
                with pytest.raises(AttributeError, match="Incompatible shape"):
                    fast(x)


ORDERS = {"rows": np.ascontiguousarray, "columns": np.asfortranarray, "gaps": lambda x: np.repeat(x, 2, 1)[:, ::2]}
READ = np.arange(6.0).reshape(2, 3)
UNVARYING = {
    "told": np.spacing, "told, of two": lambda x: np.nextafter(x, 2.0), "a constant": lambda x: READ.T.copy("F"),
    "independent": tape.func.grad(lambda x: np.ones(3).sum()),
    "pulled back": lambda x: tape.func.vjp(np.ones_like, x)[1](READ.reshape(x.shape))[0],
    "beside one": tape.func.grad(lambda x, y: (y * y).sum()),
    "by rows and columns": lambda x: (np.spacing(x), x * 2.0),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 6)])
@pytest.mark.parametrize("name", UNVARYING)
def test_what_does_not_vary_lies_as_the_function_has_it(name, shape):
    f = UNVARYING[name]
    g = (lambda x: f(x, x * 1.0)) if name == "beside one" else f
    compiled = tape.compile(g)
    for _ in range(3):
        for order in ORDERS.values():
            x = order(np.arange(6.0).reshape(shape) + 1.0)
            found, wanted = compiled(x), g(x)
            for z, w in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, wanted))):
                assert np.array_equal(z, w)
                assert (z.flags.c_contiguous, z.flags.f_contiguous) == (w.flags.c_contiguous, w.flags.f_contiguous)


SUMS = [
    "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ij,kj->ki", "ij,ij->ji", "ij,jk->kij", "ij,jk,kl->il", "i,j->ji",
    "bij,bjk->bik", "bij,bjk->ikb", "ijk,ijl->kl", "ijk,ijl->lk",
]  # fmt: skip


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("n", [3, 20, 70])
@pytest.mark.parametrize("subscripts", SUMS)
def test_large_sums_of_products_lie_as_numpy_has_them(subscripts, n, order):
    terms = subscripts.split("->")[0].split(",")
    if n ** len(set("".join(terms))) > 1e7:
        n = 20
    rng = np.random.default_rng(0)
    xs = [np.array(rng.normal(size=(n,) * len(term)), order=order) for term in terms]
    f = lambda *xs: np.einsum(subscripts, *xs)  # noqa: E731
    wanted = f(*xs)
    for z in (tape.compile(f)(*xs), tape.func.vjp(f, *xs)[0]):
        assert np.allclose(z, wanted)
        assert z.strides == wanted.strides


@pytest.mark.parametrize("f", [np.sin, lambda x: np.interp(x, [0, 9], [0, 3]), lambda x: np.polyval([1, 2, 3], x)])
def test_rows_of_jacobians_lie_as_the_argument_whichever_way_they_are_made(f):
    for order in "CF":
        x = np.array(np.arange(6.0).reshape(2, 3), order=order)
        jacobian = tape.func.jacrev(f)
        assert jacobian(x)[0, 0].flags.f_contiguous == (order == "F")
        assert tape.compile(jacobian)(x).strides == jacobian(x).strides
