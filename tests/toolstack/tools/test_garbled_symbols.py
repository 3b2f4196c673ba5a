"""The tool trace, where the file of a loaded library has been replaced by one that is damaged."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
TRIES = 2000


def test_a_damaged_file_of_a_library_names_nothing_and_crashes_nothing(tmp_path):
    library, program = tmp_path / "lib.so", tmp_path / "program"
    (tmp_path / "lib.c").write_text("int f(int x) { return x + 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "lib.c", "-o", library], check=True)
    source = ROOT / "tests/toolstack/garbled_symbols.c"
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-w")
    include = f"-I{ROOT / 'cext/toolstack/tools/trace'}"
    subprocess.run(["cc", "-std=gnu11", *checks, include, source, "-o", program, "-ldl"], check=True)
    done = subprocess.run(
        [program, library, str(TRIES)],
        env={"ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert 0 < int(done.stdout) < TRIES
