"""Functions of several tensors take them in one list too; sorts say that they are stable."""

from __future__ import annotations

import numpy as np
import pytest

import tape

torch = pytest.importorskip("torch")


def lists(lib):
    x, y = lib.arange(3.0), lib.ones(2, 1)
    number, matrix = lib.tensor(2.0), lib.arange(4.0).reshape(2, 2)
    return {
        "meshgrid of one": lib.meshgrid([x], indexing="ij"),
        "meshgrid": lib.meshgrid([x, number, lib.arange(2.0)], indexing="ij"),
        "meshgrid xy": lib.meshgrid([x, lib.arange(2.0)], indexing="xy"),
        "meshgrid one by one": lib.meshgrid(x, lib.arange(2.0), indexing="xy"),
        "atleast_1d": lib.atleast_1d([number, x]),
        "atleast_2d of one": lib.atleast_2d([number]),
        "atleast_3d": lib.atleast_3d((x, matrix)),
        "atleast_1d alone": (lib.atleast_1d(number),),
        "einsum of one": (lib.einsum("i->", [x]),),
        "einsum of a matrix": (lib.einsum("ij->j", [matrix]),),
        "einsum of dots": (lib.einsum("...j->...", [matrix]),),
        "einsum": (lib.einsum("i,i->", [x, x]),),
        "broadcast_tensors": lib.broadcast_tensors(x, y),
        "cat": (lib.cat([x, x]),),
        "stack": (lib.stack([x, x], 1),),
        "hstack": (lib.hstack([x, x]),),
        "column_stack": (lib.column_stack([x, x]),),
    }


@pytest.mark.parametrize("name", lists(tape))
def test_results_are_torchs(name):
    found, expected = lists(tape)[name], lists(torch)[name]
    assert len(found) == len(expected)
    for z, w in zip(found, expected):
        assert tuple(z.shape) == tuple(w.shape)
        np.testing.assert_allclose(z.numpy(), w.numpy())


def test_broadcast_tensors_of_a_list():
    assert [x.shape for x in tape.broadcast_tensors([tape.ones(3), tape.ones(2, 1)])] == [(2, 3), (2, 3)]


def test_gradients_flow_through_lists():
    x = tape.ones(3, requires_grad=True)
    (tape.einsum("i->", [x]) + tape.meshgrid([x, x])[0].sum() + tape.atleast_2d([x])[0].sum()).backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_meshgrid_counts_as_torch_does_and_numpys_as_numpy_does():
    x, y = tape.arange(2.0), tape.arange(3.0)
    assert tape.meshgrid(x, y)[0].shape == (2, 3)
    assert np.meshgrid(x, y)[0].shape == (3, 2)


X = [[2.0, 1.0, 2.0, 1.0], [0.0, 0.0, -1.0, 3.0]]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_stable_sorts(dim, descending):
    x, there = tape.tensor(X), torch.tensor(X)
    expected = torch.sort(there, stable=True, dim=dim, descending=descending)
    found = tape.sort(x, stable=True, dim=dim, descending=descending)
    assert found.values.tolist() == expected.values.tolist()
    assert found.indices.tolist() == expected.indices.tolist()
    assert x.sort(dim, descending).indices.tolist() == expected.indices.tolist()
    assert tape.argsort(x, dim, descending, stable=True).tolist() == expected.indices.tolist()


def test_take_along_dim_without_a_dimension():
    x, there = tape.tensor(X, requires_grad=True), torch.tensor(X)
    k = [[3, 0], [7, 3]]
    found, expected = tape.take_along_dim(x, tape.tensor(k)), torch.take_along_dim(there, torch.tensor(k))
    assert found.tolist() == expected.tolist()
    found.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0]]


def test_logit_is_limited():
    x = [0.0, 0.2, 1.0]
    results = []
    for lib in (tape, torch):
        v = lib.tensor(x, dtype=lib.float64, requires_grad=True)
        z = lib.logit(v, 1e-3)
        z.sum().backward()
        results.append((z.tolist(), v.grad.tolist()))
    assert results[0][0] == pytest.approx(results[1][0])
    assert results[0][1][1] == pytest.approx(results[1][1][1])


def test_nan_to_num_takes_none():
    assert tape.nan_to_num(tape.tensor([np.nan, 1.0]), None).tolist() == [0.0, 1.0]


CUTS = {
    "hsplit": lambda x: x.hsplit(2), "hsplit at": lambda x: x.hsplit([1, 3]),
    "hsplit of a row": lambda x: x[0].hsplit(4),
    "hsplit unevenly": lambda x: x.hsplit(3), "hsplit of a number": lambda x: x[0, 0].hsplit(1),
    "vsplit": lambda x: x.vsplit(2), "vsplit at": lambda x: x.vsplit((1,)),
    "vsplit of a row": lambda x: x[0].vsplit(2),
    "vsplit into none": lambda x: x.vsplit(0), "tensor_split": lambda x: x.tensor_split(3, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
def test_cuts_are_views_that_may_be_changed_in_place(name):
    def found(library):
        x = library.arange(8, dtype=library.float64).reshape(2, 4).requires_grad_() * 1
        try:
            parts = CUTS[name](x)
        except RuntimeError:
            return "refused"
        told = [part.grad_fn.name() for part in parts]
        parts[0].mul_(3)
        return told, x.tolist(), [(part.tolist(), part._version) for part in parts]

    assert found(tape) == found(torch)
