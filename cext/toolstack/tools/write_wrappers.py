"""Write a tool's wrappers while pse is being built.

Usage: cc -E … mpi.h | python write_wrappers.py LIST > WRAPPERS
"""

import sys
import types
from pathlib import Path

ROOT = Path(__file__).parents[3]

# The packages' own files import what need not be installed where pse is built.
for name in ("pse", "pse.toolstack"):
    package = types.ModuleType(name)
    package.__path__ = [str(ROOT / name.replace(".", "/"))]
    sys.modules[name] = package

from pse.toolstack._mpi_header import parse  # noqa: E402
from pse.toolstack._wrappers import wrappers  # noqa: E402

(listed,) = map(Path, sys.argv[1:])
sys.stdout.write(wrappers(parse(sys.stdin.read()), listed.read_text(encoding="utf-8")))
