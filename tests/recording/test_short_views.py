"""The short ways of ops that move numbers give what `bind` gives: values, views, records, and errors."""

from __future__ import annotations

import pytest

import tape
from tape.base.row import WIDTH
from tape.recording.short_views import GENERAL
from tape.recording.wengert import current

MOVES = {
    "reshape": lambda x: x.reshape(6), "two sizes": lambda x: x.reshape(3, 2), "a tuple": lambda x: x.reshape((2, -1)),
    "too many": lambda x: x.reshape(7), "two unknown": lambda x: x.reshape(-1, -1), "below": lambda x: x.reshape(-2, 3),
    "no number": lambda x: x.reshape(2.0, 3), "view": lambda x: x.view(-1), "size": lambda x: x.view(x.shape),
    "T": lambda x: x.T, "t": lambda x: x.t(), "permute": lambda x: x.permute(-1, 0), "twice": lambda x: x.permute(0, 0),
    "too few": lambda x: x.permute(0), "transpose": lambda x: x.transpose(0, -1), "beyond": lambda x: x.transpose(0, 2),
    "unsqueeze": lambda x: x.unsqueeze(1), "last": lambda x: x.unsqueeze(-1), "behind": lambda x: x.unsqueeze(4),
    "by name": lambda x: x.unsqueeze(dim=0), "squeeze": lambda x: x[None].squeeze(0), "kept": lambda x: x.squeeze(1),
    "no such": lambda x: x.squeeze(5), "expand": lambda x: x.expand(4, -1, 3),
    "no room": lambda x: x.expand(2, 5),
    "part": lambda x: x[1:], "column": lambda x: x[:, -1], "new": lambda x: x[None], "dots": lambda x: x[..., 1:],
    "element": lambda x: x[0, 1], "out": lambda x: x[:, 3], "too deep": lambda x: x[:, 0, 0],
    "truth": lambda x: x[True],
    "select": lambda x: x.select(1, 0), "narrow": lambda x: x.narrow(1, 1, 2), "unbind": lambda x: x.unbind(-1),
    "rows": lambda x: tuple(x), "numbers": lambda x: tuple(x[1]), "no axis": lambda x: x.unbind(2),
    "split": lambda x: x.split(2, 1), "lengths": lambda x: x.split([1, 2], dim=-1), "chunk": lambda x: x.chunk(2),
    "cat": lambda x: tape.cat([x, x * 2]), "columns": lambda x: tape.cat((x, x[:, :1]), 1),
    "plain too": lambda x: tape.cat([x, tape.ones(1, 3)]), "misfit": lambda x: tape.cat([x, x[:, :2]]),
    "mixed": lambda x: tape.cat([x, x[0]]), "whole": lambda x: tape.cat([x, tape.arange(6).reshape(2, 3)]),
    "nothing": lambda x: tape.cat([]), "stack": lambda x: tape.stack([x, x + 1]),
    "at the end": lambda x: tape.stack([x, x], 2),
    "between": lambda x: tape.stack((x, x), -2), "unequal": lambda x: tape.stack([x, x[:1]]),
    "of numbers": lambda x: tape.stack([x[0, 0], x[1, 1]]), "over": lambda x: tape.stack([x], 5),
}  # fmt: skip
TENSORS = {
    "rows": lambda: tape.arange(6.0).reshape(2, 3) * 1, "columns": lambda: (tape.arange(6.0) * 1).reshape(3, 2).T,
    "spread": lambda: tape.arange(3.0).expand(2, 3), "whole numbers": lambda: tape.arange(6).reshape(2, 3),
    "halves": lambda: tape.arange(6).reshape(2, 3).half(), "complex": lambda: tape.arange(6.0).reshape(2, 3) * 1j,
}  # fmt: skip


def outcome(move, make, requires_grad, recording):
    """All that can be seen of a call, and of a change in place of what it gave."""
    x = make()
    if requires_grad and x.dtype.kind in "fc":
        x = x.detach().requires_grad_() * 1
    before = len(current())
    with tape.set_grad_enabled(recording):
        try:
            made = move(x)
        except Exception as error:
            return type(error), str(error)
    rows = current().rows[before * WIDTH :]
    shown = [(r[1], r[7], r[8], [v is None for v in r[2:7]]) for r in zip(*[rows[k::WIDTH] for k in range(WIDTH)])]
    results = made if isinstance(made, tuple) else (made,)
    told = []
    for z in results:
        node = z.grad_fn and (z.grad_fn.name(), z.output_nr, [(n and n.name(), i) for n, i in z.grad_fn.next_functions])
        told.append((z.tolist(), z.dtype, z.shape, z.stride(), z.requires_grad, z.is_leaf, z._is_view(), node))
    if recording and results[0].requires_grad and results[0].dtype.kind == "f":
        told.append(tape.autograd.grad(sum((z * z).sum() for z in results), x, allow_unused=True)[0])
        told[-1] = told[-1] if told[-1] is None else told[-1].tolist()
    try:
        with tape.no_grad():
            results[0].mul_(3)
    except RuntimeError as error:
        told.append(str(error))
    return shown, told, x.tolist(), x._version, [z.tolist() for z in results]


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("of", TENSORS)
@pytest.mark.parametrize("move", MOVES)
def test_the_short_way_is_the_general_one(move, of, requires_grad, recording):
    short = outcome(MOVES[move], TENSORS[of], requires_grad, recording)
    GENERAL.append(True)
    try:
        general = outcome(MOVES[move], TENSORS[of], requires_grad, recording)
    finally:
        GENERAL.clear()
    assert short == general
