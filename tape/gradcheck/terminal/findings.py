"""What the command does between reading its options and printing: load, check, search, look at the numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...numpy.inside import Inside
from ..checking import check
from ..derivatives.report import Report
from ..derivatives.second import second_order
from .inputs import FILE, BadInput, Reader
from .matching import CallPlan, plan
from .model import load, module_of, pick
from .progress_table import Progress

if TYPE_CHECKING:
    from ..numerical_health import Health
    from ..searching import Search


@dataclass
class Findings:
    """What the command found.

    Attributes:
        plan: the call that was checked, once it is known.
        reports: one for each order.
        search, health: what these found, where they were asked for.
        test: the text of a test that fails as the search did.
    """

    plan: CallPlan | None = None
    reports: list[Report] = field(default_factory=list)
    search: Search | None = None
    health: Health | None = None
    test: str | None = None


def prepare(target: str, options: dict[str, Any]) -> CallPlan:
    """Load the function and read its inputs.

    Raises:
        BadInput: if options exclude each other, or an input is not right.
        Failed: if the function cannot be had.
    """
    func, folder = load(target)
    gradient = options["gradient"]
    _check_options(options)
    by_hand = None if gradient is None else pick(module_of(func), gradient, target.rpartition(":")[0])
    dtype = None if options["dtype"] is None else np.dtype(options["dtype"])
    reader = Reader(options["seed"], dtype, (Path.cwd(), folder))
    wrt = None if options["wrt"] is None else [name.strip() for name in options["wrt"].split(",")]
    inside = Inside(func) if hands_arrays(options) else func
    chosen = plan(inside, [reader.read(text) for text in options["inputs"]], wrt, reader, by_hand)
    chosen.returned, chosen.peer = options["value_and_gradient"], options["library"]
    return chosen


def hands_arrays(options: dict[str, Any]) -> bool:
    """Whether tape differentiates the function, and hands it arrays."""
    return not (options["tensors"] or _elsewhere(options))


def _elsewhere(options: dict[str, Any]) -> str | None:
    """The option that says that the gradient is not tape's."""
    given = {"--gradient": options["gradient"], "--value-and-gradient": options["value_and_gradient"]}
    return next((name for name, value in {**given, "--library": options["library"]}.items() if value), None)


def _check_options(options: dict[str, Any]) -> None:
    """Raise `BadInput` where options exclude each other."""
    elsewhere = _elsewhere(options)
    others = {"--gradient": options["gradient"], "--value-and-gradient": options["value_and_gradient"]}
    ours = {"--forward": options["forward"], "--batched": options["batched"], "--order 2": options["order"] == 2}
    for name, on in (ours | {"--health": options["healthy"]} | others | {"--library": options["library"]}).items():
        if elsewhere is not None and on and name != elsewhere:
            raise BadInput(f"{elsewhere} and {name} exclude each other: one gradient is checked, once and by itself")
    if options["searching"] and options["order"] == 2:
        raise BadInput("--search and --order 2 exclude each other: a search is for first derivatives")
    if options["vary"] and not options["searching"]:
        raise BadInput("--vary-shapes is for --search; add that")


def run(found: Findings, target: str, options: dict[str, Any]) -> None:
    """First and, where asked, second order; then what else was asked for."""
    chosen = found.plan
    assert chosen is not None
    how = {name: options[name] for name in ("eps", "atol", "rtol", "fast", "forward", "batched", "seed")}
    wrt = [chosen.names.index(name) for name in chosen.wrt]
    known: dict[str, Any] = {
        "wrt": wrt,
        "names": chosen.names,
        "gradient": chosen.given,
        "library": chosen.peer,
        **how,
    }
    curves = options["html"] is not None
    with Progress() as progress:
        found.reports.append(
            check(
                chosen.func, chosen.values, progress=progress, curves=curves,
                batched_forward=how["forward"] and how["batched"], **known,
            )
        )  # fmt: skip
        if options["order"] == 2:
            second = second_order(chosen.func, chosen.values, wrt, chosen.names, seed=options["seed"])
            found.reports.append(
                check(
                    second.func, second.arguments, wrt=second.wrt, names=second.names, progress=progress, curves=curves,
                    **how,
                )
            )  # fmt: skip
    if options["healthy"]:
        from ..numerical_health import health  # opened when it is asked for

        found.health = health(chosen.func, chosen.values, wrt=wrt, names=chosen.names)
    if options["searching"]:
        _search(found, target, options, known)


def _search(found: Findings, target: str, options: dict[str, Any], known: dict[str, Any]) -> None:
    from ..searching import search  # Hypothesis is opened when it is asked for

    assert found.plan is not None
    bounds = {name: options[name] for name in ("vary", "examples", "seconds")}
    with Progress("searching") as progress:
        found.search = search(found.plan.func, found.plan.values, progress=progress, **bounds, **known)
    if found.search.failure is not None:
        found.test = _test(target, found.plan, found.search.failure.inputs, options)


def _test(target: str, plan: CallPlan, inputs: dict[str, Any], options: dict[str, Any]) -> str:
    """The text of a test that fails at these inputs; data are read from their files again."""
    from ..reproduce import loading, text_of, written

    imports, before = loading(target, plan.gradient is not None)
    texts = {text.partition("=")[0].strip(): text for text in options["inputs"]}
    files = {name: text for name, text in texts.items() if FILE.fullmatch(text.partition("=")[2].strip())}
    read = [name for name in inputs if name in files and name not in plan.wrt]
    if read:
        imports.append("from tape.gradcheck.terminal.inputs import read")
    folders = [str(Path.cwd()), *([str(Path(target.rpartition(":")[0]).resolve().parent)] if ".py:" in target else [])]
    dtype = "" if options["dtype"] is None else f", dtype={options['dtype']!r}"
    shown = {
        name: f"read({files[name]!r}, folders={folders!r}{dtype})" if name in read else written(value)
        for name, value in inputs.items()
    }
    how = {name: repr(options[name]) for name in ("eps", "atol", "rtol") if options[name] is not None}
    how |= {name: "True" for name in ("fast", "forward", "batched") if options[name]}
    how |= {"arrays": "True"} if hands_arrays(options) else {}
    how |= {"gradient": "True"} if plan.returned else {"gradient": "gradient"} if plan.gradient is not None else {}
    how |= {"library": repr(plan.peer)} if plan.peer else {}
    wrt = [plan.names.index(name) for name in plan.wrt]
    title = target.rpartition(":")[2]
    return text_of("function", title, shown, wrt, imports=imports, after=before(options["gradient"]), options=how)
