"""A module finder that reads its directives from a table: what tests of the checker need, and no files."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import PurePath

import pytest

from pse.errors import ModuleNotFound
from pse.language import Diagnostic, ModuleFile, Span, parse_directive, parse_record
from pse.language.types._types import LANGUAGES, Element, Signature
from pse.modules.std._signatures import standard_file

MODULES = {
    "kernels/fft.c": """
        rows(inout c128 a[m, n] @ block(0))
        fft_rows(inout c128 a[m, n] @ block(0))
    """,
    "frames.py": """
        load_frame(in i64 k, in i64 n, out c128 image[n, n])
        save_frame(in i64 k, in c128 spectrum[n, n])
    """,
    "heat.c": """
        init(out f64 u[nx + 2, ny + 2])
        step(in f64 u[nx + 2, ny + 2], out f64 v[nx + 2, ny + 2], out f64 residual)
    """,
    "gravity.c": """
        forces(in f64 x[n, 4], in f64 y[m, 4], inout f64 acc[n, 3])
        kick(inout f64 v[n, 3], in f64 acc[n, 3], in f64 dt)
        drift(inout f64 x[n, 4], in f64 v[n, 3], in f64 dt)
        energy(in f64 x[n, 4], in f64 v[n, 3], out f64 e)
    """,
    "plummer.py": """
        plummer(in i64 n, in i64 seed = 42, out f64 x[n, 4], out f64 v[n, 3])
    """,
    "tools.c": """
        make(in i64 n, out f64 x[n])
        make2(in i64 n, in i64 m, out f64 x[n, m])
        double(in i64 n, out f64 x[2 * n])
        use(in f64 x[n])
        use2(in f64 x[n, m])
        square(in f64 x[n, n])
        pair(in f64 x[n], in f64 y[n])
        product(in f64 x[n], in f64 y[n], out f64 z[n])
        grow(in f64 x[n], in f64 y[m], out f64 z[n + m])
        halve(in f64 x[2 * n], out f64 y[n])
        blend(inout f64 x[n, m], in f64 y[n, m])
        change(inout f64 x[n])
        norm(in f64 x[n], out f64 value)
        count(in f64 x[n], out i64 value)
        number(out i64 value)
        bump(inout i64 value)
        whole(in f64 x[n] @ root)
        everywhere(in f64 x[n] @ replicated)
        piece(in f64 x[n] @ block(0), out f64 y[n] @ block(0))
        sized(in i64 n, inout f64 x[n])
        text(in string name)
        scale(inout T x[n], in T factor)
        made(out T x[n])
        local(in f64 x[n], out f64 h[16])
        talk(in comm c, inout f64 x[n]) collective
        secret(out object o)
        tell(in object o)
        flag(in f64 x[n], out bool done)
        single(in f32 x[n])
        spread(in f64 u[n + 2], out f64 v[n + 2])
        spread_rows(in f64 u[m + 2, n + 2] @ block(0) halo(1), out f64 v[m + 2, n + 2] @ block(0) halo(1))
        smooth(inout f64 u[n + 2])
        amplify(inout f64 u[n + 2] interior)
        halves(in f64 x[2 * n], out f64 y[n])
        parted(in f64 x[m], out f64 y[n])
        twice(in f64 x[n], out f64 y[2 * n])
        twice_open(in f64 x[n], out f64 y[?k <= 2 * n])
        beside(in f64 x[n], out f64 y[3, n + n])
        beside_open(in f64 x[n], out f64 y[3, m])
        doubled(in f64 x[n], in f64 y[2 * n])
        unlike(in f64 x[n], in f64 y[m])
        mix(in T x[n], in T y[n])
        shaped(out f64 x[n])
        flat(out f64 x[m, n])
        find(in f64 x[n], out f64 kept[?k <= n])
        find_rows(in f64 x[n, m], out f64 kept[?k <= n, m], out i64 which[?k <= n])
    """,
    "bodies.c": """
        record Body { i32 kind   f64 x, v }
        drift(inout Body bodies[n], in f64 dt)
        push(in Body sun, inout Body bodies[n])
        centre(in Body bodies[n], out Body middle)
    """,
    "picks.c": """
        record Body { i32 kind   f64 x, v }
        pick(in Body all[n], in i64 k, out Body one)
    """,
    "broken.c": "bad(in f64 x[1.5])",
    "shapes.py": """
        noise(in i64 n, in f64 scale = 1.0, in i64 seed = 42, out f64 x[n])
    """,
}


PROGRAMS = {
    "lib.coven": """coven 1
        import "tools.c" as k
        param i64 N = 4 where N > 0
        param f64 factor = 2.0
        segment grow(f64[16] a) -> (f64[16] b) { copy(a) -> b   k.scale(b, factor) }
        segment pieces(f64[16] @ block(0) a) -> () { PARALLEL { k.change(a)   print(N) } }
    """,
    "fluids.coven": """coven 1
bundle Fluid { f64[8] rho, u }
record Cell { f64 p   bool wet }
""",
    "left.coven": """coven 1
import "right.coven" { b }
segment a() -> () { b() }
""",
    "right.coven": """coven 1
import "left.coven" { a }
segment b() -> () { a() }
""",
    "wrong.coven": """coven 1
segment twice(i64 a) -> (i64 b) { b = 2 * c }
""",
    "open.coven": """coven 1
segment twice(i64 a) -> (i64 b) { b = 2 *
""",
}


class FakeFinder:
    """Finds what is in `MODULES` (or another table) and in `PROGRAMS`, and the standard library."""

    def __init__(self, modules: Mapping[str, str] = MODULES) -> None:
        self._modules = modules
        self._find = functools.cache(self._read)

    def find(self, import_path: str, importing_file: str) -> ModuleFile:
        return self._find(import_path)

    def _read(self, import_path: str) -> ModuleFile:
        if import_path == "pse.std":
            return standard_file()
        if import_path not in self._modules:
            raise ModuleNotFound(f"`{import_path}` is not there", help="paths are relative to the program")
        language = LANGUAGES[PurePath(import_path).suffix]
        return self._file(import_path, language, self._modules[import_path])

    def read_program(self, import_path: str, importing_file: str) -> tuple[str, str, tuple[Diagnostic, ...]]:
        if import_path == importing_file:
            return import_path, "", ()
        if import_path not in PROGRAMS:
            raise ModuleNotFound(f"`{import_path}` is not there", help="paths are relative to the program")
        return import_path, PROGRAMS[import_path], ()

    def _file(self, path: str, language: str, directives: str) -> ModuleFile:
        signatures: list[Signature] = []
        diagnostics: list[Diagnostic] = []
        records: dict[str, Element] = {}
        for line, text in enumerate(directives.split("\n"), 1):
            if not text.strip():
                continue
            word, _, rest = text.strip().partition(" ")
            span = Span(path, line, 18, line, 18 + len(text.strip()))
            found = (
                parse_record(rest, span) if word == "record" else parse_directive(text.strip(), span, records)
            )
            if isinstance(found, Signature):
                signatures.append(found)
            elif isinstance(found, tuple):
                diagnostics += found
            else:
                records[found.label] = found
        known = tuple(records.values())
        return ModuleFile(path, path, language, tuple(signatures), tuple(diagnostics), records=known)


@pytest.fixture(scope="session")
def finder() -> FakeFinder:
    """Give a finder with the modules of `MODULES`."""
    return FakeFinder()
