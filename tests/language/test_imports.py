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


INSTALLED = """coven 1
import "pse:fft.coven" {{ fft2 }}
{head}
partition P = 2
partition Q = 3
program main {{
  var i64 n = 5
  fill(1.5) -> c128[5, 4] a
  scatter(a) -> x @ block(0) over P
  scatter(a) -> z @ block(0) over Q
  PARALLEL over Q {{ fft(z) -> y }}
  {call}
  print(n)
}}
"""


@pytest.mark.parametrize(
    ("head", "call", "code", "column", "help"),
    [
        (
            "",
            "fft2(5, 4, a) -> b",
            "E0208",
            3,
            "cut over one of them:  scatter(…) -> pieces @ block(0) over P",
        ),
        ("", "fft2(n, 4, x) -> b", "E0317", 3, "use parameters"),
        ("", "PARALLEL over P { fft2(5, 4, x) -> b }", "E0316", 21, "close the outer block first"),
        ("threads thread_A, thread_W", "fft2(5, 4, x) -> b", "E0212", 3, "thread_A, thread_W, thread_B"),
        ("", "fft2(5, 4, x) -> y", "E0312", 20, "redistribute(y) -> pieces @ block(1) over P"),
        ("", "fft2(4, 4, x) -> b", "E0311", 14, "give a tag of that shape, or the extents that the tag has"),
    ],
)
def test_what_is_wrong_in_a_segment_of_a_package_is_told_at_its_call(
    tmp_path, head, call, code, column, help
):
    path = tmp_path / "main.coven"
    path.write_text(INSTALLED.format(head=head, call=call))
    first = next(d for d in check_file(str(path), Finder()).diagnostics if d.code.startswith("E"))
    assert (first.code, first.span.start) == (code, f"{path}:12:{column}")
    assert help in first.help
    assert first.notes[0][0].path.endswith("fft.coven")
    assert "change the segment" not in first.help


def test_a_segment_of_a_package_works_over_the_partition_of_what_it_is_given(tmp_path):
    path = tmp_path / "main.coven"
    path.write_text(INSTALLED.format(head="", call="fft2(5, 4, x) -> b\n  fft2(5, 4, z) -> c"))
    program = check_file(str(path), Finder()).required()
    where = {tag.display: tag.type.distribution.partition for tag in program.tags.values()}
    assert (where["b"], where["c"]) == ("P", "Q")


NOTHING_FOLLOWS = """coven 1
import "gone.coven" { Fluid, Cell, flow, N, pieces }
import "gone.coven" as lib
partition Q = 2
segment march(Fluid a) -> (Cell b) { flow(a) -> b }
program p {
  var Fluid now
  var lib.Fluid then
  var Cell[N, lib.N] @ replicated cells
  var lib.Cell @ replicated one
  zero() -> f64[N] u @ block(0) over pieces
  march(now.rho, u) -> cell
  lib.march(then.rho)
  for k in 0 .. N { print(k, lib.N, cell, now.u) }
}
"""


def test_what_a_missing_file_would_give_is_no_mistake_of_its_own(tmp_path):
    program = tmp_path / "main.coven"
    program.write_text(NOTHING_FOLLOWS)
    with pytest.raises(ProgramRefused) as refused:
        check_file(str(program), Finder()).required()
    assert [(d.code, d.span.line) for d in refused.value.diagnostics] == [("E0501", 2), ("E0501", 3)]


def test_parameters_and_bundles_are_used_by_the_name_of_a_file(tmp_path):
    library = "coven 1\nparam i64 N = 3\nbundle Pair { f64[N] x, y }\n"
    (tmp_path / "lib.coven").write_text(library)
    text = 'coven 1\nimport "lib.coven" as lib\nprogram p {\n  var lib.Pair a\n  fill(lib.N) -> a.x\n'
    (tmp_path / "main.coven").write_text(text + "  fill(1) -> a.y\n  print(a, lib.N + 1)\n}\n")
    program = check_file(str(tmp_path / "main.coven"), Finder()).required()
    environment, wrong = bind_parameters(program, {"N": "5"}, 1)
    assert (environment["N"], wrong) == (5, ())
    assert {tag.display for tag in program.tags.values()} >= {"a.x", "a.y"}
