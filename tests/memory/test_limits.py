"""How much memory there is, and what happens when it isn't there: an error code, never a signal."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pse.memory import ArenaSystemError, default_capacity, memory_figures

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ROOT = Path(__file__).parents[2]

MEMINFO = f"MemTotal: {8 * MIB} kB\nMemFree: 100 kB\nMemAvailable: {4 * MIB} kB\n"

V2 = "sys/fs/cgroup"
V1 = "sys/fs/cgroup/memory"


@pytest.fixture
def system(tmp_path):
    """A function that writes the files of a system with 8 GiB, 4 of them available."""

    def write(files):
        for name, text in {"proc/meminfo": MEMINFO, **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(str(text))
        return str(tmp_path)

    return write


@pytest.mark.parametrize(
    ("files", "total", "available"),
    [
        ({}, 8 * GIB, 4 * GIB),
        (
            {"proc/self/cgroup": "0::/a/b\n", f"{V2}/a/b/memory.max": "max\n", f"{V2}/a/b/memory.current": 5},
            8 * GIB,
            4 * GIB,
        ),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                f"{V2}/a/b/memory.max": GIB,
                f"{V2}/a/b/memory.current": GIB // 4,
            },
            GIB,
            GIB * 3 // 4,
        ),
        (  # The limit of the group above holds as well; its idle file cache can be had.
            {
                "proc/self/cgroup": "0::/a/b\n",
                f"{V2}/a/b/memory.max": 2 * GIB,
                f"{V2}/a/b/memory.current": MIB,
                f"{V2}/a/memory.max": GIB,
                f"{V2}/a/memory.current": GIB,
                f"{V2}/a/memory.stat": f"anon 7\ninactive_file {GIB // 2}\nactive_file 9\n",
            },
            GIB,
            GIB // 2,
        ),
        (  # In a container, the group's path isn't there, but its own limit is at the mount point.
            {"proc/self/cgroup": "0::/box/7f\n", f"{V2}/memory.max": GIB, f"{V2}/memory.current": GIB},
            GIB,
            0,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu:/\n4:memory:/job\n0::/\n",
                f"{V1}/job/memory.limit_in_bytes": 3 * GIB,
                f"{V1}/job/memory.usage_in_bytes": 2 * GIB,
                f"{V1}/job/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB}\n",
            },
            3 * GIB,
            2 * GIB,
        ),
        (  # Version 1 writes a huge number for no limit.
            {
                "proc/self/cgroup": "4:memory:/\n",
                f"{V1}/memory.limit_in_bytes": 9223372036854771712,
                f"{V1}/memory.usage_in_bytes": GIB,
            },
            8 * GIB,
            4 * GIB,
        ),
    ],
    ids=["no cgroup", "no limit", "limit", "nested", "container", "version 1", "version 1, no limit"],
)
def test_memory_is_the_least_that_machine_and_control_groups_allow(system, files, total, available):
    root = system(files)
    assert memory_figures(root) == (total, available)
    assert default_capacity(root) == max(available * 4 // 5 // MIB, 1) * MIB


@pytest.mark.parametrize("text", ["", "\0\1\2", "MemTotal: many kB\n", "MemTotal: 12 kB\n"])
def test_a_system_that_does_not_tell_is_an_error(system, text):
    with pytest.raises(ArenaSystemError, match="/proc/meminfo doesn't tell how much memory there is"):
        memory_figures(system({"proc/meminfo": text}))


def test_this_machine_has_memory():
    total, available = memory_figures()
    assert 0 < available <= total <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert default_capacity() < available


def run(source, **keywords):
    return subprocess.run(
        [sys.executable, "-c", "from pse.memory import *\n" + source],
        capture_output=True, text=True, cwd=ROOT, timeout=60, **keywords
    )  # fmt: skip


CATCH = """
arena = Arena.create(64 << 20)
small = arena.allocate(1000)
try:
    arena.allocate(32 << 20, "u1")
except ArenaError as error:
    print(type(error).__name__, error, "|", error.help)
small.array[:] = 1
print(arena.is_valid(), arena.allocate(1000).array.shape)
"""


@pytest.mark.parametrize(
    ("limit", "message"),
    [(resource.RLIMIT_AS, "Cannot allocate memory"), (resource.RLIMIT_FSIZE, "File too large")],
    ids=["address space", "file size"],
)
def test_a_limit_of_the_shell_is_an_error_and_no_signal(limit, message):
    ended = run(
        "try: Arena.create(4 << 30)\nexcept ArenaError as error: print(error, '|', error.help)",
        preexec_fn=lambda: resource.setrlimit(limit, (2 * GIB, 2 * GIB)),
    )
    assert ended.stdout == (
        f"an arena of 4 GiB can't be made: {message}"
        " | look at the limits of this shell (ulimit -a) and of its cgroup\n"
    )


@pytest.fixture
def little_memory(tmp_path):
    """A function that runs a script where the system says that 16 MiB of 1 GiB are available."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: {MIB} kB\nMemAvailable: {16 * KIB} kB\n")
    prefix = [
        "unshare",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        f'mount --bind {meminfo} /proc/meminfo && exec "$@"',
    ]
    if not shutil.which("unshare") or subprocess.run([*prefix, "sh", "true"], capture_output=True).returncode:
        pytest.skip("this machine doesn't let a test have a /proc/meminfo of its own")

    def run_there(source):
        command = [*prefix, "sh", sys.executable, "-c", "from pse.memory import *\n" + source]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)

    return run_there


def test_what_the_system_can_not_give_is_refused_before_it_is_touched(little_memory):
    ended = little_memory(CATCH)
    assert "ArenaMemoryError the system has no memory left for the arena: 32 MiB asked for, " in ended.stdout
    assert "end other programs" in ended.stdout
    assert ended.stdout.endswith("True (1000,)\n")


def test_an_arena_larger_than_this_memory_is_refused(little_memory):
    ended = little_memory(
        "try: Arena.create(2 << 30)\nexcept ArenaError as error: print(error, '|', error.help)"
    )
    assert ended.stdout == (
        "an arena of 2 GiB is larger than the memory that this machine or its cgroup has, 1 GiB"
        " | ask for less than 1 GiB, or leave it to the engine: options { arena = auto }\n"
    )
