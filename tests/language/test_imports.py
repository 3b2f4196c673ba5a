"""Files of segments: checked by themselves, imported, and refused where a program is needed."""

import pytest
from click.testing import CliRunner

from pse.cli import main
from pse.language import bind_parameters
from pse.language.diagnostics import ProgramRefused
from pse.language.io import check_file
from pse.modules import Finder

LIBRARY = """coven 1
param i64 N = 3
segment tell(i64 k) -> () { print(k * N) }
"""
PROGRAM = """coven 1
import "lib.coven" { tell }
param i64 N = 5
program main { tell(N) }
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lib.coven").write_text(LIBRARY)
    (tmp_path / "main.coven").write_text(PROGRAM)
    return tmp_path


def test_a_file_of_segments_is_well_and_is_no_program(folder):
    path = str(folder / "lib.coven")
    assert CliRunner().invoke(main, ["check", path]).exit_code == 0
    with pytest.raises(ProgramRefused) as refused:
        check_file(path, Finder()).required()
    assert [d.code for d in refused.value.diagnostics] == ["E0206"]


def test_parameters_of_one_name_are_told_apart_by_their_files(folder):
    program = check_file(str(folder / "main.coven"), Finder()).required()
    environment, wrong = bind_parameters(program, {"lib.N": "10"}, 1)
    assert wrong == ()
    assert (environment["N"], environment["lib.N"]) == (5, 10)


def test_places_lead_from_the_program_to_the_imported_file(folder):
    program = check_file(str(folder / "main.coven"), Finder()).required()
    place = str(program.body[-1].span)
    assert place == f"{folder / 'main.coven'}:4:16 → {folder / 'lib.coven'}:3:29"
