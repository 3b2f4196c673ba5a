"""The tools record and replay: a run whose order timing decides is repeated exactly, or refused by name."""

from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
REPLAYS = 10

pytestmark = pytest.mark.mpi


@pytest.fixture
def race(program):
    return program("race", (PROGRAMS / "race.c").read_text(), "-g")


@pytest.fixture
def under(stacked_program, tmp_path):
    """Run under record or replay, with one directory: ``under("record", 3, program, …)``."""

    def run(tool, ranks, *command):
        return stacked_program(ranks, f"module {tool}\n  argument directory {tmp_path}/order\n", *command)

    return run


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_race_is_repeated_as_often_as_one_likes(under, race, ranks):
    recorded = under("record", ranks, race, "8")
    assert (recorded.code, recorded.err) == (0, "")
    replays = [under("replay", ranks, race, "8") for _ in range(REPLAYS if ranks > 1 else 1)]
    assert [(done.code, done.err) for done in replays] == [(0, "")] * len(replays)
    assert {done.out for done in replays} == {recorded.out}


def test_the_race_ends_differently_without_a_record(race, stacked_program):
    assert len({stacked_program(3, "", race, "8").out for _ in range(5)}) > 1


def test_a_race_in_python_is_repeated(stacked, tmp_path):
    script, directory = PROGRAMS / "race.py", f"\n  argument directory {tmp_path}/order\n"
    recorded = stacked(3, "module record" + directory, script)
    assert recorded.code == 0
    for _ in range(3):
        done = stacked(3, "module replay" + directory, script)
        assert (done.code, done.out) == (0, recorded.out)


def test_another_program_is_told_where_it_departs(under, race):
    under("record", 3, race, "8")
    done = under("replay", 3, race, "7")
    assert done.code != 0
    assert "replay, rank 0: at call 15 of the record: MPI_Recv was recorded, but the program " in done.err
    assert "the program calls MPI_Irecv, at race.c:" in done.err


def test_a_program_that_ends_too_early_is_told_so(under, race, program):
    under("record", 3, race, "8")
    quiet = program(
        "quiet", "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Finalize(); return 0; }\n"
    )
    done = under("replay", 3, quiet)
    assert done.code != 0
    assert "MPI_Recv was recorded, but the program ends" in done.err


@pytest.fixture
def order(under, race, tmp_path):
    """Give the files of a recorded run."""
    under("record", 3, race, "8")
    files = sorted((tmp_path / "order").iterdir())
    assert [file.name for file in files] == [f"rank-{rank:05}.order" for rank in range(3)]
    return files


def truncated(files):
    files[0].write_bytes(files[0].read_bytes()[:-32])


def changed(files):
    data = bytearray(files[0].read_bytes())
    data[-9] ^= 1
    files[0].write_bytes(data)


def swapped(files):
    files[0].write_bytes(files[1].read_bytes())


def foreign(files):
    files[0].write_bytes(b"something else altogether" * 9)


def gone(files):
    files[2].unlink()


@pytest.mark.parametrize(
    ("damage", "rank", "words"),
    [
        (truncated, 0, "it is cut off: "),
        (changed, 0, "its checksum is wrong: the file was changed or damaged"),
        (swapped, 0, "it is the record of rank 1 of 3, this is rank 0 of 3"),
        (foreign, 0, "it is not a file of the tool `record`"),
        (gone, 2, "No such file or directory"),
    ],
)
def test_a_record_that_cannot_be_followed_is_refused(order, under, race, damage, rank, words):
    damage(order)
    done = under("replay", 3, race, "8")
    assert done.code == 2
    assert f"rank {rank}: {order[rank]} can't be replayed: {words}" in done.err
    assert "r100" not in done.out  # What the program itself prints.


def test_a_record_of_another_number_of_ranks_is_refused(order, under, race):
    done = under("replay", 2, race, "8")
    assert done.code == 2
    assert "it is the record of rank 1 of 3, this is rank 1 of 2" in done.err


def test_files_of_two_runs_are_not_mixed(order, under, race):
    before = order[1].read_bytes()
    under("record", 3, race, "8")
    order[1].write_bytes(before)
    done = under("replay", 3, race, "8")
    assert done.code == 2
    assert f"{order[1]} can't be replayed: it belongs to another run than the file of rank 0" in done.err


@pytest.mark.parametrize("tool", ["record", "replay"])
def test_record_and_replay_without_a_directory_do_not_start(stacked, tool):
    done = stacked(1, f"module {tool}\n", "-c", "from mpi4py import MPI")
    assert done.code == 2
    assert f"tool `{tool}`: no directory to " in done.err


STARVED = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(void)
{
    enum { COUNT = 1 << 22, LEFT = 32 << 20 };
    unsigned long pages = 0;
    MPI_Init(NULL, NULL);
    MPI_Request *requests = malloc(COUNT * sizeof *requests);
    for (int i = 0; i < COUNT; i++)
        requests[i] = MPI_REQUEST_NULL;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return 9;
    const rlim_t most = pages * sysconf(_SC_PAGESIZE) + LEFT;
    setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    puts("went on");
    return MPI_Finalize();
}
"""


def test_a_tool_without_memory_ends_the_job_with_words(under, program):
    done = under("record", 1, program("starved", STARVED))
    assert (done.code, done.out) == (1, "")
    assert "record, rank 0: there is no memory for " in done.err
    assert " bytes that this tool needs: the job ends" in done.err


KILLED = """
import os, signal, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    for i in range(20):
        world.send(world.rank, 0)
else:
    order = [world.recv(source=MPI.ANY_SOURCE) for _ in range(20 * (world.size - 1))]
    with open(sys.argv[1], "w") as file:
        print(*order, file=file)
world.Barrier()
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
world.recv(source=MPI.ANY_SOURCE)
"""


def test_what_killed_ranks_have_recorded_is_replayed(stacked, tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    directory = tmp_path / "order"
    for tool, seen in ("record", "first"), ("replay", "again"):
        conf = f"module {tool}\n  argument directory {directory}\n"
        assert stacked(3, conf, tmp_path / "killed.py", tmp_path / seen).code != 0
    assert sorted(path.name for path in directory.iterdir()) == [
        f"rank-{rank:05}.order.part" for rank in range(3)
    ]
    assert (tmp_path / "first").read_text() == (tmp_path / "again").read_text()
