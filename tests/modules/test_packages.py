"""Modules and segments of installed packages, found by their entry points."""

import importlib

import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.errors import ModuleNotFound
from pse.language import check_program
from pse.modules import Finder, resolve_import
from pse.modules.load._imports import import_python

KERNELS = """
heard = []
#@ coven module hear(in i64 k)
def hear(k):
    heard.append(k)
"""
SEGMENTS = """coven 1
import "kernels.py" { hear }
param i64 factor = 3
segment tell(i64 k) -> () { hear(factor * k) }
"""
PROGRAM = """coven 1
import "spectral:tell.coven" { tell }
import "spectral:kernels.py" as kernels
program p { tell(2)   kernels.hear(1) }
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory of installed packages, with one of modules."""
    package, metadata = tmp_path / "spectral_modules", tmp_path / "spectral-1.0.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('nothing is executed to find it')\n")
    (package / "kernels.py").write_text(KERNELS)
    (package / "tell.coven").write_text(SEGMENTS)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: spectral\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[pse.modules]\nspectral = spectral_modules\nlost = not_there\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return package


def test_a_program_runs_segments_and_modules_of_a_package(site, tmp_path):
    program = compile_program(PROGRAM, tmp_path / "p.coven")
    heard = import_python(str(site / "kernels.py"), "kernels.py").heard
    heard.clear()
    run(make_job(program, 1, values={"factor": 5}))
    assert heard == [10, 1]


def test_a_path_with_a_colon_that_is_no_package_is_a_path(site):
    assert resolve_import("data/a:b.c", "programs/p.coven") == "programs/data/a:b.c"


@pytest.mark.parametrize(
    ("path", "message", "help"),
    [
        ("spectrl:kernels.py", "no installed package gives modules as `spectrl`", "did you mean `spectral`?"),
        ("fluid:a.c", "no installed package gives modules as `fluid`", "installed are: lost, spectral"),
        ("lost:a.c", "`lost` names not_there, which is no installed package", "install it again"),
    ],
)
def test_a_package_that_is_not_there_is_named(site, path, message, help):
    with pytest.raises(ModuleNotFound) as refused:
        Finder().find(path, "p.coven")
    assert refused.value.message == message
    assert refused.value.help == help


def test_a_missing_file_of_a_package_is_reported_where_it_is_imported(site):
    text = 'coven 1\nimport "spectral:nowhere.coven" { f }\nprogram p { f() }\n'
    (found,) = check_program(text, "p.coven", modules=Finder()).diagnostics
    assert (found.code, found.span.line) == ("E0501", 2)
    assert str(site / "nowhere.coven") in found.message
