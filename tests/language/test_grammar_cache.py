"""The grammar's tables in the cache: read again, made anew when damaged, and never necessary."""

import json
import os

import pytest

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
        check(tmp_path / "cache")
    finally:
        os.umask(before)
    assert tables.stat().st_ino == made


def test_a_cache_that_cannot_be_used_does_not_matter(check, tmp_path):
    (tmp_path / "file").touch()
    check(tmp_path / "file")
