"""How diagnostics look: on paper, in JSON, with long lines, and with text that must not reach a terminal."""

import io

from pse.language import (
    Diagnostic,
    Severity,
    Span,
    check_program,
    print_diagnostics,
    render_diagnostics,
    to_json,
)
from pse.language.diagnostics._diagnostic import error_at

PROGRAM = """coven 1
import "kernels/fft.c" { fft_rows }
import "frames.py" { load_frame }
param i64 N = 1024
partition P = procs
program p {
  thread_A load_frame(0, N) -> img
  PARALLEL over P {
    thread_B fft_rows(img)
  }
}
"""

PRINTED = """error[E0312]: distribution mismatch: `img` is @ root, but `fft_rows` needs @ block(0)
 programs/p.coven:9:23   thread_B fft_rows(img)
                                           ^^^ c128[N, N] @ root
 kernels/fft.c:3         //@ coven module fft_rows(inout c128 a[m, n] @ block(0))
 help: scatter it before the block:  thread_A scatter(img) -> rows @ block(0)
"""


def mismatch(finder):
    return check_program(PROGRAM, "programs/p.coven", modules=finder).diagnostics


def test_text_shows_both_places_and_the_fix(finder):
    assert render_diagnostics(mismatch(finder), {"programs/p.coven": PROGRAM}) == PRINTED


def test_json_says_what_the_text_says(finder):
    data = to_json(mismatch(finder))
    assert (data["errors"], data["warnings"]) == (1, 0)
    (diagnostic,) = data["diagnostics"]
    assert diagnostic["code"] == "E0312"
    assert diagnostic["severity"] == "error"
    assert (diagnostic["path"], diagnostic["line"], diagnostic["column"]) == ("programs/p.coven", 9, 23)
    assert (diagnostic["end_line"], diagnostic["end_column"]) == (9, 26)
    assert diagnostic["label"] == "c128[N, N] @ root"
    assert diagnostic["notes"][0]["path"] == "kernels/fft.c"
    assert diagnostic["help"].startswith("scatter it before the block")


def test_a_stream_that_is_no_terminal_gets_plain_text(finder):
    stream = io.StringIO()
    print_diagnostics(mismatch(finder), {"programs/p.coven": PROGRAM}, stream)
    assert stream.getvalue() == PRINTED


def test_a_terminal_gets_the_same_text_in_colour(finder, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    print_diagnostics(mismatch(finder), {"programs/p.coven": PROGRAM}, stream)
    assert "\x1b[" in stream.getvalue()
    plain = "".join(part.split("m", 1)[-1] for part in stream.getvalue().split("\x1b["))
    assert plain == PRINTED


def test_a_long_line_is_clipped_around_the_place():
    text = "x" * 5000 + "HERE" + "y" * 5000
    printed = render_diagnostics([error_at("E0001", "look", Span("p", 1, 5001, 1, 5005))], {"p": text})
    line, carets = printed.split("\n")[1:3]
    assert len(line) < 150
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == "HERE"


def test_control_characters_do_not_reach_the_terminal():
    printed = render_diagnostics(
        [error_at("E0001", "bad \x1b[2J", Span("p", 1, 1, 1, 2))], {"p": "\x1b[31m\x07"}
    )
    assert "\x1b" not in printed
    assert "\x07" not in printed


def test_tabs_do_not_shift_the_carets():
    printed = render_diagnostics([error_at("E0001", "look", Span("p", 1, 4, 1, 5))], {"p": "\ta\tb"})
    line, carets = printed.split("\n")[1:3]
    assert line[carets.index("^")] == "b"


def test_a_place_without_source_is_printed_without_its_line():
    printed = render_diagnostics([Diagnostic("E0501", Severity.ERROR, "gone", Span("far.c", 7, 2, 7, 3))], {})
    assert printed == "error[E0501]: gone\n far.c:7:2\n"
