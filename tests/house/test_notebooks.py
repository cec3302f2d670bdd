"""Every notebook runs from the top, and the outputs stored in it are the ones it gives.

    python tests/house/test_notebooks.py 05 06

runs those whose names begin so, or all of them, and stores their outputs.
"""

import os
import sys
from pathlib import Path

import pytest

import tape

sys.path.append(str(Path(__file__).parents[1]))  # as pytest does; Python finds only what lies beside a script
from dask_cluster import MISSING

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SHOWN = "text/plain", "image/svg+xml"


def read(path):
    """The notebook as it is stored; the import may take as long as that of all other tests together."""
    import nbformat

    return nbformat.read(path, as_version=4)


def run(path):
    """The notebook after a run in its own folder, on the same `tape` as here."""
    from nbclient import NotebookClient

    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=300,
        resources={"metadata": {"path": str(FOLDER)}},
        record_timing=False,
        coalesce_streams=True,
    )
    source = str(Path(tape.__file__).parents[1])
    client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])})
    return without_widgets(notebook)


def without_widgets(notebook):
    """The notebook with the pictures that stand for widgets where there is no kernel, and without the widgets."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    return notebook


def outputs(notebook):
    """What each cell shows: printed text, and results as text or as a picture."""
    return [[shown(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


def shown(output):
    if output.output_type == "stream":
        return output.name, output.text
    return {kind: output.data[kind] for kind in SHOWN if kind in output.data}


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path):
    text = path.read_text(encoding="utf-8")
    if "tape.dask" in text:
        pytest.importorskip("distributed", reason=MISSING)
    if "import pyplot" in text:
        pytest.importorskip("matplotlib", reason="this lesson draws with Matplotlib, which the extra `test` installs")
    assert outputs(run(path)) == outputs(read(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_exercise_is_open_and_its_solution_right(path):
    verdicts = [
        output.data["text/plain"]
        for cell in read(path).cells
        if cell.cell_type == "code" and cell.source.rstrip().splitlines()[-1].startswith("check(")
        for output in cell.outputs
    ]
    assert verdicts[0].startswith("'not yet")
    assert verdicts[-1] == "'right'"


if __name__ == "__main__":
    import nbformat

    for path in (path for path in NOTEBOOKS if path.name.startswith(tuple(sys.argv[1:]) or "")):
        nbformat.write(run(path), path)
