"""Nodes of ops with several results, beside PyTorch: what hooks are given, what is saved, in which order."""

from __future__ import annotations

import pytest
from samples import samples

import tape
from ops import REGISTRY

torch = pytest.importorskip("torch")
DATA = [[1.0, 3.0, 2.0, 3.0], [4.0, 0.5, -1.0, 7.0]]
SEVERAL = {
    "max": lambda t, x: t.max(x, dim=1), "min": lambda t, x: x.min(0), "sort": lambda t, x: x.sort(-1, True),
    "topk": lambda t, x: t.topk(x, 2, dim=1), "median": lambda t, x: t.median(x, dim=1),
    "nanmedian": lambda t, x: x.nanmedian(1), "mode": lambda t, x: t.mode(x, 1),
    "mode kept": lambda t, x: x.mode(0, True),
    "kthvalue": lambda t, x: t.kthvalue(x, 2, dim=1), "cummax": lambda t, x: t.cummax(x, dim=1),
    "cummin": lambda t, x: x.cummin(0), "frexp": lambda t, x: t.frexp(x), "msort": lambda t, x: (t.msort(x),),
    "aminmax": lambda t, x: x.aminmax(), "aminmax dim": lambda t, x: t.aminmax(x, dim=0, keepdim=True),
    "rows": lambda t, x: tuple(x), "numbers": lambda t, x: tuple(x[1]), "unbind": lambda t, x: x.unbind(1),
    "split": lambda t, x: x.split(3, 1), "var_mean": lambda t, x: t.var_mean(x, dim=1),
    "qr": lambda t, x: t.linalg.qr(x[:, :2]), "eigh": lambda t, x: t.linalg.eigh(x[:, :2]),
}  # fmt: skip


def rounded(g):
    return None if g is None else (tuple(g.shape), [round(float(v), 9) + 0.0 for v in g.detach().reshape(-1)])


def seen(library, function, which):
    """What is seen of a result and its node in the forward, and what its hooks are given in a backward."""
    x = library.tensor(DATA, dtype=library.float64, requires_grad=True)
    results = tuple(function(library, x))
    told = [(rounded(z), str(z.dtype).split(".")[-1], z.requires_grad, z.output_nr) for z in results]
    z = results[which % len(results)]
    if z.grad_fn is None:
        return told
    node = z.grad_fn
    told.append((node.name(), [i for _, i in node.next_functions]))
    told += [(tuple(m.shape), str(m.dtype).split(".")[-1]) for m in node._input_metadata]
    node.register_prehook(lambda gs: told.append(("before", list(map(rounded, gs)))))
    node.register_hook(lambda bars, gs: told.append(("after", list(map(rounded, bars)), list(map(rounded, gs)))))
    (z.abs() * 2).sum().backward()
    return [*told, rounded(x.grad)]


@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize("name", SEVERAL)
def test_hooks_of_nodes_are_given_what_pytorchs_are(name, which):
    assert seen(tape, SEVERAL[name], which) == seen(torch, SEVERAL[name], which)


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.outputs > 1 and op.cases], ids=lambda op: op.name)
def test_integer_results_are_the_last_ones(op):
    for operands, params in samples(op):
        kinds = [z.dtype.kind for z in op.forward(*operands, **params)]
        assert [kind in "iu" for kind in kinds] == [i >= op.outputs - op.integers for i in range(op.outputs)]


TIES = [[[1.0, 2.0, 1.0, 2.0]], [[3.0, 3.0, 1.0, 1.0, 1.0]], [[2.0], [1.0]], [[-0.0, 0.0, 0.0, 5.0, 5.0]]]


@pytest.mark.parametrize("data", TIES)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_modes_are_pytorchs(data, dim):
    ours, theirs = (t.tensor(data, dtype=t.float64).mode(dim) for t in (tape, torch))
    assert (ours.values.tolist(), ours.indices.tolist()) == (theirs.values.tolist(), theirs.indices.tolist())


BINARY = {
    "mul": lambda t, x, y: x * y, "div": lambda t, x, y: x / y, "pow": lambda t, x, y: x**y,
    "atan2": lambda t, x, y: t.atan2(x, y), "maximum": lambda t, x, y: t.maximum(x, y), "matmul": lambda t, x, y: x @ y,
    "hypot": lambda t, x, y: t.hypot(x, y), "bmm": lambda t, x, y: t.bmm(x[None], y[None]),
    "sort": lambda t, x, y: x.sort(0)[0], "topk": lambda t, x, y: y.topk(1)[0], "sqrt": lambda t, x, y: x.sqrt(),
}  # fmt: skip


def packs(library, function):
    """What is put away and got back, in order."""
    x = library.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=library.float64, requires_grad=True)
    y = library.tensor([[0.5, 0.25], [7.0, 1.5]], dtype=library.float64, requires_grad=True)
    told = []

    def note(v):
        told.append(rounded(v))
        return v

    with library.autograd.graph.saved_tensors_hooks(note, note):
        z = function(library, x, y)
    z.sum().backward()
    return told


@pytest.mark.parametrize("name", BINARY)
def test_values_are_put_away_and_got_back_in_pytorchs_order(name):
    assert packs(tape, BINARY[name]) == packs(torch, BINARY[name])


CHANGES = {
    "values": lambda z: z[0].mul_(3), "values detached": lambda z: z[0].detach().fill_(2),
    "a part": lambda z: z[0].detach()[0].fill_(2), "indices": lambda z: z[1].zero_(),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["max", "sort", "topk", "kthvalue", "median", "cummax", "mode"])
def test_values_that_were_chosen_may_be_changed_and_places_not(name, change):
    """The rule reads the places alone."""

    def gradient(library):
        x = library.tensor(DATA, dtype=library.float64, requires_grad=True)
        z = SEVERAL[name](library, x)
        CHANGES[change](z)
        try:
            z[0].sum().backward()
        except RuntimeError:
            return "refused"
        return rounded(x.grad)

    assert gradient(tape) == gradient(torch)


PARTS = {
    "unbind": lambda x: x.unbind(0), "split": lambda x: x.split(3), "chunk": lambda x: x.chunk(2),
    "rows": lambda x: tuple(x), "tensor_split": lambda x: x.tensor_split(2),
}  # fmt: skip
THROUGH = {
    "the whole": lambda x, parts: x, "a part": lambda x, parts: parts[0],
    "a view of a part": lambda x, parts: parts[0][...],
    "a twin": lambda x, parts: x.detach(), "a twin of a part": lambda x, parts: parts[0].detach(),
    "the data": lambda x, parts: x.data,
}  # fmt: skip


@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize("of", PARTS)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_parts_count_changes_with_the_whole(of, through, requires_grad):
    def counts(library):
        x = library.ones(4, dtype=library.float64, requires_grad=requires_grad) * 1
        parts = PARTS[of](x)
        with library.no_grad():
            THROUGH[through](x, parts).mul_(2)
        return x._version, [part._version for part in parts]

    assert counts(tape) == counts(torch)


@pytest.mark.parametrize("library", [tape, torch])
@pytest.mark.parametrize("flag", [True, False])
def test_requires_grad_of_what_was_computed_cannot_be_assigned(library, flag):
    y = library.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        y.requires_grad = flag
    assert y.requires_grad_().requires_grad


HOOKS = {
    "on the cpu": lambda t: t.autograd.graph.save_on_cpu(),
    "the same": lambda t: t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v),
    "copies": lambda t: t.autograd.graph.saved_tensors_hooks(lambda v: v.clone(), lambda v: v),
}  # fmt: skip


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("hooks", HOOKS)
@pytest.mark.parametrize("name", ["max", "sort", "topk", "cummax", "frexp"])
def test_results_may_be_changed_after_hooks_have_put_them_away(name, hooks, recording):
    def gradient(library):
        x = library.tensor(DATA, dtype=library.float64, requires_grad=True)
        with HOOKS[hooks](library):
            z = SEVERAL[name](library, x)[0]
        with library.set_grad_enabled(recording):
            z.mul_(2)
        z.sum().backward()
        return rounded(x.grad)

    assert gradient(tape) == gradient(torch)
