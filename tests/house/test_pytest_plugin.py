"""The pytest plugin as it is installed: a module of its own beside the package, with an entry point."""

import os
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "tape" / "gradcheck" / "pytest_wengert.py"

TESTS = """
    import numpy as np
    import pytest
    import tape

    def bad(x):
        y = np.where(x > 2, tape.stop_gradient(x), x)
        return (y * y).sum()

    @pytest.mark.gradcheck(forward=True)
    def test_right(gradcheck):
        assert {c.mode for c in gradcheck(lambda x: np.tanh(x).sum(), np.ones(2)).comparisons} == {"reverse", "forward"}
        gradcheck(lambda x: x.tanh().sum(), tape.ones(2))
        gradcheck(lambda x: x @ x, np.ones(2), gradient=lambda x: 2 * x, forward=False)

    def test_bad(gradcheck):
        gradcheck(bad, np.array([1.0, 3.0]))

    @pytest.mark.gradcheck(examples=60)
    def test_search(gradcheck):
        gradcheck.search(bad, np.array([1.0]))
"""


@pytest.fixture
def site(tmp_path):
    """A folder on the path that holds what a wheel has beside the packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    ((name, module),) = project["project"]["entry-points"]["pytest11"].items()
    files = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert files == {str(PLUGIN.relative_to(ROOT)): f"{module}.py"}
    site = tmp_path / "site"
    info = site / "plugged-0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(PLUGIN, site / f"{module}.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    return site


def run(site, text, *options):
    folder = site.parent / "work"
    folder.mkdir(exist_ok=True)
    (folder / "test_it.py").write_text(textwrap.dedent(text))
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
    known.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", *options, "test_it.py"],
        cwd=folder, env=known, capture_output=True, text=True, timeout=180, check=False,
    ).stdout  # fmt: skip


def test_the_fixture_the_marker_and_what_fails_in_processes(site):
    out = run(site, TESTS, "-n", "1")
    assert "2 failed, 1 passed" in out, out
    assert "gradient 0, difference 6" in out
    assert "in bad: y = np.where(x > 2, tape.stop_gradient(x), x)" in out
    assert "d output / d x[1]" in out
    assert "x = np.array([3.0])" in out
    assert "asserting.py" not in out  # the traceback ends at the user's line


def test_an_unrelated_run_imports_nothing_of_ours(site):
    out = run(
        site,
        """
        import sys

        def test_light():
            assert "pytest_wengert" in sys.modules
            assert not {"tape", "ops", "numba", "numpy"} & set(sys.modules)
        """,
        "-p", "no:hypothesispytest",
    )  # fmt: skip
    assert "1 passed" in out, out
