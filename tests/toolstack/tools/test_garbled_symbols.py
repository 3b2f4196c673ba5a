"""Readers of libraries' files, in the tool trace and before a tool is loaded, where the files are damaged."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
TRIES = 2000


def test_a_damaged_file_of_a_library_names_nothing_and_crashes_nothing(tmp_path):
    library, program = tmp_path / "lib.so", tmp_path / "program"
    (tmp_path / "lib.c").write_text("int f(int x) { return x + 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "lib.c", "-o", library], check=True)
    core = ROOT / "cext/toolstack/core"
    sources = [
        ROOT / "tests/toolstack/garbled_symbols.c",
        *(core / "elf" / name for name in ("elf_file.c", "mapped_elf.c")),
    ]
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-w", "-D_GNU_SOURCE=")
    includes = [f"-I{ROOT / 'cext/toolstack/tools/trace'}", f"-I{core}"]
    subprocess.run(["cc", "-std=gnu11", *checks, *includes, *sources, "-o", program, "-ldl"], check=True)
    done = subprocess.run(
        [program, library, str(TRIES)],
        env={"ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    named, loadable = map(int, done.stdout.split())
    assert 0 < named < TRIES
    assert 0 < loadable < TRIES
