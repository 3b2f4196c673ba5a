"""The notebooks under notebooks/: no output is kept in them, and every cell does what it says."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from pse.notebook import create_project

# It is imported by the process that executes a notebook: beside some installed packages that takes seconds.
pytestmark = pytest.mark.skipif(
    find_spec("nbclient") is None, reason="nbclient (extra pse[dev]) is not installed"
)

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIRST = "1-first-program"
"""It is executed each time, the others every night: they compute for most of a minute each, with programs
that have tests of their own.
"""


def test_the_folder_has_at_least_three_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_output(path):
    cells = json.loads(path.read_text())["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.mpi
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.nightly] * (path.stem != FIRST))
        for path in NOTEBOOKS
    ],
)
def test_every_cell_of_a_notebook_runs_or_fails_as_it_is_marked(path, execute, tmp_path):
    if "scenes" in path.stem:
        pytest.importorskip("rasterio", reason="rasterio (extra pse[scenes]) is not installed")
    place = tmp_path / "notebooks"
    place.mkdir()
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    cells = execute(path, place)
    for cell in cells:
        meant = "raises-exception" in cell["metadata"].get("tags", ())
        failed = [output for output in cell["outputs"] if output["output_type"] == "error"]
        assert bool(failed) == meant, json.dumps(failed, indent=1)
    pictures = [o for cell in cells for o in cell["outputs"] if "image/png" in o.get("data", {})]
    assert pictures, "no picture is shown"


@pytest.mark.mpi
def test_the_notebook_of_a_new_project_runs(execute, tmp_path):
    project = tmp_path / "waves"
    create_project(str(project))
    cells = execute(project / "waves.ipynb", project)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("measure" in str(output.get("data", {})) for output in outputs)
