"""The benchmarks measure right answers: every one of them at a tiny size, without its peers."""

import json
import re

import numpy as np
import pytest
from benchmarks import against, command, scaling, tree_rows
from benchmarks.catalogue import BENCHMARKS, CLUSTERED, chosen
from benchmarks.cluster import clusters
from benchmarks.goal import at_most, beyond, faster, within
from benchmarks.kinds import Fresh, Timed, agree, gradients
from benchmarks.peers import start
from benchmarks.processes import ROOT
from benchmarks.report import START, STOP, Result, write_readme
from benchmarks.timing import Samples, compare
from click.testing import CliRunner

TIMED = [b for b in BENCHMARKS if isinstance(b, Timed)]
FRESH = [b for b in BENCHMARKS if isinstance(b, Fresh)]


def names(benchmarks):
    return [b.name for b in benchmarks]


@pytest.mark.parametrize("benchmark", TIMED, ids=names(TIMED))
def test_small_gradients_agree_with_the_complex_step(benchmark):
    work = benchmark.make(*benchmark.small)
    ours = benchmark.peers[0]
    agree(gradients(start(ours, work)), work.reference(), benchmark.name)
    with benchmark.samplers([ours], small=True) as samplers:
        assert samplers[ours]() > 0


@pytest.mark.cluster
def test_peers_on_a_cluster_find_the_same_and_give_a_figure(client, monkeypatch):
    """All on one cluster; those that come without other libraries."""
    monkeypatch.setattr(clusters, "cluster", lambda stack, workers: client)
    for benchmark in (b for b in CLUSTERED if b.name in ("dask logistic", "dask scenarios")):
        peers = [peer for peer in benchmark.peers if peer.startswith(("tape", "numpy", "dask"))]
        with benchmark.samplers(peers, small=True) as samplers:
            assert all(np.isfinite(sample()) for sample in samplers.values()), benchmark.name


def test_the_table_on_paper_follows_from_its_figures():
    """Where handing out costs nothing, workers are used; where it costs much, that is all there is."""
    figures = scaling.Figures(dispatch=0.0, block=0.0, delay=0.0, row=1e-8, latency=0.0, bandwidth=1e30)
    for workers in (10, 1000):
        assert scaling.seconds(figures, workers, workers, 4 * workers) == pytest.approx(10.0 / workers)
    slow = figures._replace(dispatch=1e-3)
    assert scaling.seconds(slow, 1000, 1000, 4000) == pytest.approx((1000 + 125 + 16 + 2) * 1e-3 + 0.01, rel=0.1)
    assert scaling.seconds(slow, 1000, 4000, 4000) > 3 * scaling.seconds(slow, 1000, 1000, 4000)
    assert scaling.table(figures._replace(dispatch=1e-3)).count("\n| ") == 1 + 2 * len(scaling.WORKERS)


@pytest.mark.parametrize("benchmark", FRESH, ids=names(FRESH))
def test_fresh_processes_give_a_figure(benchmark):
    ours = benchmark.peers[0]
    with benchmark.samplers([ours], small=True) as samplers:
        assert samplers[ours]() > 0


def test_a_peer_with_another_gradient_is_noticed():
    work = TIMED[0].make(*TIMED[0].small)
    (wrong,) = work.reference()
    with pytest.raises(AssertionError, match="peer on work"):
        agree([wrong * 1.001], work.reference(), "peer on work")


def test_names_are_unique_and_chosen_by_their_beginnings():
    assert len(set(names(BENCHMARKS))) == len(BENCHMARKS)
    assert names(chosen(["chain"])) == ["chain ()", "chain (4,)", "chain (100,)"]
    with pytest.raises(ValueError, match="no benchmark's name begins with 'nothing'; there are 'chain"):
        chosen(["nothing"])


def test_turns_are_interleaved_and_paired():
    turns = []
    samplers = {peer: lambda peer=peer: turns.append(peer) or len(turns) for peer in "AB"}
    samples = compare(samplers, seconds=0.0, least=4)
    assert "".join(turns) == "ABBAABBA"
    assert samples.by_peer == {"A": [1, 4, 5, 8], "B": [2, 3, 6, 7]}


def test_goals():
    samples = Samples({"tape": [1.0, 2.0, 1.0], "torch": [4.0, 8.0, 3.0]})
    assert samples.ratio("torch", "tape") == 4.0
    assert faster("torch", 4).reached(samples)
    assert not faster("torch", 4.1).reached(samples)
    assert within("torch", 1.2).reached(samples)
    assert not within("tape", 0.9).reached(samples)
    assert at_most(1.0).reached(samples)
    assert not at_most(0.9).reached(samples)
    assert beyond("torch", -2.5, "no more").reached(samples)
    assert not beyond("torch", -3.5, "no more").reached(samples)
    both = faster("torch", 4) & at_most(0.9)
    assert not both.reached(samples)
    assert both.peers == ("torch",)
    assert both.text == "≥ 4× faster than torch; ≤ 0.9 s"


@pytest.fixture
def result(monkeypatch):
    """A chain measured without peers, as on a machine that has none of them."""
    monkeypatch.setattr(command, "installed", lambda peer: peer == "tape")
    return command.measure(chosen(["chain ()"])[0], seconds=0.0, small=True, rounds=1)


def test_a_missing_peer_is_reported(result):
    assert result.missing == ["torch", "autograd"]
    assert result.column("torch") == "not installed"
    assert result.verdict() == "≥ 3× faster than torch: unknown"
    assert result.as_dict()["reached"] is None


def test_the_readme_is_written_between_its_markers(tmp_path, result):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{START}\nold\n{STOP}\nafter\n")
    write_readme(readme, [result])
    once = readme.read_text()
    assert once.startswith(f"before\n{START}\n| work | tape | torch |")
    assert once.endswith(f"{STOP}\nafter\n")
    assert "old" not in once
    write_readme(readme, [result])
    assert readme.read_text() == once
    readme.write_text("text\n")
    write_readme(readme, [result])
    assert readme.read_text().startswith(f"text\n\n{START}\n| work")
    readme.write_text(START)
    with pytest.raises(ValueError, match=r"without .* after it"):
        write_readme(readme, [result])


def test_the_command_writes_a_table_and_every_sample(tmp_path, monkeypatch, result):
    monkeypatch.setattr(command, "measure", lambda benchmark, _: Result(benchmark, result.samples, result.missing))
    path = tmp_path / "out.json"
    outcome = CliRunner().invoke(command.main, ["chain", "--json", str(path)])
    assert outcome.exit_code == 0
    assert "one thread each" in " ".join(outcome.output.lower().split())
    written = json.loads(path.read_text())
    assert [b["name"] for b in written["benchmarks"]] == names(chosen(["chain"]))
    assert written["benchmarks"][0]["peers"]["tape"]["samples"] == result.samples.by_peer["tape"]
    assert "numpy" in written["versions"]
    wrong = CliRunner().invoke(command.main, ["nothing"])
    assert wrong.exit_code == 2
    assert "no benchmark's name begins with" in wrong.output


@pytest.mark.parametrize("row", tree_rows.ROWS)
def test_what_is_timed_of_two_trees_runs(row):
    tree_rows.ROWS[row]()()


def test_this_tree_is_timed_beside_itself():
    """Its own process takes the place of the other one's; the figures of both are there, and a bound is kept."""
    run = CliRunner().invoke(against.main, [str(ROOT), "eager x[i]", "--rounds", "1", "--count", "1", "--most", "100"])
    assert run.exit_code == 0, run.output
    assert re.fullmatch(r"eager x\[i\] +\S+ [mµ]s +\S+ [mµ]s +\d+\.\d{3}\n", run.output)
    run = CliRunner().invoke(against.main, [str(ROOT), "nothing"])
    assert run.exit_code == 2
    assert "no row's name begins so; there are 'eager" in run.output


def test_a_row_that_a_tree_cannot_run_says_why():
    class Broken:
        def seconds(self, row):
            return "TypeError: no"

    assert against.turns([Broken(), Broken()], "row", 2) == "the other tree: TypeError: no"
    assert against.ratio([(1.0, 2.0), (2.0, 2.0), (1.0, 1.5)]) == 1.5
