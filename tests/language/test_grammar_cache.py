"""The grammar's tables and syntax trees in the cache: read again, made anew when damaged, never necessary."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "programs"
PROGRAM = "coven 1\nimport pse.std\nprogram p { print(1) }\n"


@pytest.fixture
def check(pse, tmp_path):
    """Check a program with a cache in some directory."""
    (tmp_path / "p.coven").write_text(PROGRAM)

    def run(cache):
        checked = pse("check", "p.coven", cwd=tmp_path, env={"PSE_CACHE": str(cache)}, own_process=True)
        assert (checked.code, checked.out) == (0, "p.coven: no errors\n"), checked.err

    return run


def test_tables_are_kept_and_those_that_are_of_no_use_are_made_anew(check, tmp_path):
    check(tmp_path / "cache")
    [tables] = (tmp_path / "cache" / "grammar").iterdir()
    whole, made = tables.read_bytes(), tables.stat().st_ino
    check(tmp_path / "cache")
    assert tables.stat().st_ino == made
    for damaged in (whole[: len(whole) // 2], b"[{}, {}]", b"[[], 1]", b"\xff"):
        tables.write_bytes(damaged)
        shutil.rmtree(tmp_path / "cache" / "trees")
        check(tmp_path / "cache")
        assert json.loads(tables.read_bytes())[0]["__type__"] == "Lark"
    assert [tables] == list((tmp_path / "cache" / "grammar").iterdir())


def test_tables_are_used_whatever_the_umask(check, tmp_path):
    before = os.umask(0)
    try:
        (tmp_path / "cache").mkdir(mode=0o755)
        (tmp_path / "cache" / "grammar").mkdir(mode=0o755)
        check(tmp_path / "cache")
        [tables] = (tmp_path / "cache" / "grammar").iterdir()
        made = tables.stat().st_ino
        shutil.rmtree(tmp_path / "cache" / "trees")
        check(tmp_path / "cache")
    finally:
        os.umask(before)
    assert tables.stat().st_ino == made


def test_a_cache_that_cannot_be_used_does_not_matter(check, tmp_path):
    (tmp_path / "file").touch()
    check(tmp_path / "file")


ASK = """
import sys
from pse.language.syntax._kept_trees import program_tree
text = open(sys.argv[1]).read()
kept = program_tree(text, sys.argv[1])
parser_loaded = "lark" in sys.modules
from pse.language import parse_program
parsed = parse_program(text, sys.argv[1])
assert kept == (parsed.tree, parsed.diagnostics)
print(parser_loaded)
"""


@pytest.fixture
def parser_is_loaded(tmp_path):
    """Ask for the tree of a program in a process of its own; it must be the parser's, wherever it is from."""

    def run(path):
        line = [sys.executable, "-c", ASK, str(path)]
        environment = os.environ | {"PSE_CACHE": str(tmp_path / "cache")}
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout == "True\n"

    return run


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.coven")), ids=lambda path: path.stem)
def test_the_tree_of_a_program_that_was_parsed_before_needs_no_parser(parser_is_loaded, path):
    assert parser_is_loaded(path)
    assert not parser_is_loaded(path)


def test_a_program_that_was_changed_is_parsed_anew(parser_is_loaded, tmp_path):
    program = tmp_path / "p.coven"
    for text in (PROGRAM, PROGRAM.replace("1)", "2)")):
        program.write_text(text)
        assert parser_is_loaded(program)
        assert not parser_is_loaded(program)


def test_a_program_with_mistakes_is_parsed_each_time(parser_is_loaded, tmp_path):
    program = tmp_path / "p.coven"
    program.write_text(PROGRAM.replace("(1", "(1 +"))
    assert parser_is_loaded(program)
    assert parser_is_loaded(program)


@pytest.mark.parametrize("damage", [b"", b"\xff", b"[1, 2]", b'[{"Number": [1]}, {"Nothing": []}]'])
def test_a_damaged_tree_is_made_anew(parser_is_loaded, tmp_path, damage):
    program = tmp_path / "p.coven"
    program.write_text(PROGRAM)
    assert parser_is_loaded(program)
    [tree] = (tmp_path / "cache" / "trees").iterdir()
    whole = tree.read_bytes()
    for wrong in (damage, whole[: len(whole) // 2]):
        tree.write_bytes(wrong)
        assert parser_is_loaded(program)
        assert tree.read_bytes() == whole


def test_a_tree_that_a_stranger_could_have_written_is_not_read(parser_is_loaded, tmp_path):
    program = tmp_path / "p.coven"
    program.write_text(PROGRAM)
    assert parser_is_loaded(program)
    (tmp_path / "cache" / "trees").chmod(0o777)
    assert parser_is_loaded(program)
