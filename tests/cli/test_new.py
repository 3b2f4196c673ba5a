"""`pse new`: what it writes runs as it is."""

import pytest
from click.testing import CliRunner

from pse.cli import main


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A new project, with the current directory in it."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["new", "waves"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "run it: cd waves && pse run waves.coven -p 2"
    monkeypatch.chdir(tmp_path / "waves")
    return tmp_path / "waves"


@pytest.mark.mpi
def test_its_program_is_canonical_and_runs(project, pse):
    assert sorted(path.name for path in project.iterdir()) == [
        *("signals.py", "smooth.c", "waves.coven", "waves.ipynb")
    ]
    assert "NAME" not in (project / "waves.coven").read_text() + (project / "waves.ipynb").read_text()
    formatted = pse("fmt", "--check", "waves.coven", cwd=project)
    assert (formatted.code, formatted.err) == (0, "")
    ran = pse("run", "-q", "waves.coven", "-p", "3", "-D", "n=3000", "-D", "signals=2", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split(":")[0] for line in ran.out.splitlines()] == ["signal 0", "signal 1"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".", "the folder and its program need a name, and this path has none"),
        ("there", "there exists already and is left as it is"),
        ("2nd", "`2nd` can't be the name of a program"),
        ("for", "`for` is a reserved word"),
        ("/proc/mine", "/proc/mine can't be written"),
        ("a-b", "use letters, digits and underscores"),
    ],
)
def test_a_project_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    result = CliRunner().invoke(main, ["new", name])
    assert result.exit_code == 2
    assert said in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
