"""Checkpoints of coscheduled programs: killed, they go on as if nothing had been; bad ones are refused."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from pse_testing.example_counts import nightly
from pse_testing.jobs import THREE_NODES, TWO_NODES, needs_cliques

pytestmark = pytest.mark.mpi
PROGRAMS = Path(__file__).parent / "programs"
ONE_NODE = {}


def run_until_done(mpiexec, ranks, folder, kills, steps=12, env=ONE_NODE):
    """Launch a program anew until it ends by itself; in the first launches a rank is killed, each in turn."""
    codes, dice = [], random.Random(ranks)
    while not codes or codes[-1]:
        kill = ranks * dice.randrange(1, 10**6) + len(codes) % ranks if len(codes) < kills else 0
        words = folder / "saved", folder / "result", kill, steps
        ended = mpiexec(ranks, PROGRAMS / "restarted.py", *words, env=env)
        assert kill or ended.code == 0, ended.err
        codes.append(ended.code)
    return codes, (folder / "result").read_text()


def check_restarts(mpiexec, ranks, tmp_path, kills, steps=12, env=ONE_NODE):
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
    codes, found = run_until_done(mpiexec, ranks, tmp_path / "killed", kills, steps, env)
    assert found == run_until_done(mpiexec, ranks, tmp_path / "whole", 0, steps, env)[1], codes
    assert len(list((tmp_path / "killed" / "saved").iterdir())) == ranks + 1
    assert sum(map(bool, codes)) == kills


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_killed_program_goes_on_as_if_nothing_had_been(mpiexec, ranks, tmp_path):
    check_restarts(mpiexec, ranks, tmp_path, 2)


@needs_cliques()
@pytest.mark.parametrize(
    ("ranks", "env"),
    [(3, TWO_NODES), *nightly((4, THREE_NODES))],
    ids=["2+1", "2+1+1"],
)
def test_a_program_killed_on_either_node_goes_on_as_if_nothing_had_been(mpiexec, ranks, env, tmp_path):
    check_restarts(mpiexec, ranks, tmp_path, 2, env=env)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("ranks", "env"),
    [
        *((ranks, ONE_NODE) for ranks in (1, 3, 4)),
        *(pytest.param(ranks, TWO_NODES, marks=needs_cliques()) for ranks in (3, 6)),
        pytest.param(6, THREE_NODES, marks=needs_cliques()),
    ],
    ids=["1", "3", "4", "2+1", "3+3", "2+2+2"],
)
def test_a_program_killed_in_twenty_random_slices_goes_on(mpiexec, ranks, env, tmp_path):
    check_restarts(mpiexec, ranks, tmp_path, 20, 100, env)


@pytest.fixture(scope="module")
def saved_once(mpiexec, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    ended = mpiexec(2, PROGRAMS / "checkpoints.py", "save", cwd=folder)
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def saved(saved_once, tmp_path):
    """A checkpoint of two ranks."""
    return shutil.copytree(saved_once, tmp_path, dirs_exist_ok=True)


def told(mpiexec, ranks, case, folder):
    ended = mpiexec(ranks, PROGRAMS / "checkpoints.py", case, cwd=folder)
    assert ended.code == 0, ended.err
    return ended.out


def cut(path):
    path.write_bytes(path.read_bytes()[:-2])


def change(path):
    path.write_bytes(path.read_bytes().replace(b"serial", b"serian").replace(b"array", b"arraz"))


@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        (
            "000002-rank-1.npz",
            Path.unlink,
            "rank 1: saved/000002-rank-1.npz is missing; checkpoint.json names it",
        ),
        ("000002-rank-1.npz", cut, "rank 1: saved/000002-rank-1.npz has "),
        ("000002-rank-1.npz", change, "rank 1: saved/000002-rank-1.npz was altered: its checksum is not "),
        (
            "checkpoint.json",
            cut,
            "rank 0: saved/checkpoint.json is not a checkpoint of pse.bcs, or it is damaged",
        ),
        (
            "checkpoint.json",
            change,
            "rank 0: saved/checkpoint.json was altered: its checksum does not match its content",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused(mpiexec, saved, name, damage, words):
    damage(saved / "saved" / name)
    out = told(mpiexec, 2, "load", saved)
    assert out.startswith(words)
    assert "help: put back what it was, or remove the directory, and the program begins anew" in out


def test_a_checkpoint_of_other_ranks_is_refused(mpiexec, saved):
    assert told(mpiexec, 1, "load", saved) == (
        "rank 0: saved is a checkpoint of 2 ranks, and there are 1\nhelp: start the program on 2 ranks\n"
    )


def test_what_was_saved_comes_back(mpiexec, saved):
    assert told(mpiexec, 2, "load", saved) == "['file', 'x'] [3.0, 4.0]\n"
    assert sorted(np.load(saved / "saved/000002-rank-0.npz"))[:2] == ["array.file", "array.x"]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (
            "requests",
            "rank 1: a checkpoint can't be written: Recv from rank 0 with tag 5 of rank 1 is under way",
        ),
        ("objects", "rank 0: x can't be saved: it has objects of Python\nhelp: save arrays of numbers"),
        (
            "file",
            "rank 0: the checkpoint's directory saved/checkpoint.json: it is a file; expected a",
        ),
        ("late", "rank 0: saved can't be restored: operations are under way\nhelp: restore right after"),
        ("seldom", "[True, False]"),
    ],
)
def test_what_can_not_be_saved_is_told(mpiexec, saved, case, words):
    assert told(mpiexec, 2, case, saved).startswith(words)
