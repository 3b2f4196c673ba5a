"""Distributed arrays through the real engine: dealt out any way, dealt anew, shown to neighbours, handed on,
put together again.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.harness import compile_program, make_job, run

from pse.errors import RunError
from pse.modules.load._imports import import_python

MODULES = """
import numpy as np
noted, sizes = [], []
#@ coven module make(in i64 a, in i64 b, in i64 c, out f64 x[a, b, c])
def make(a, b, c):
    return np.arange(a * b * c, dtype=float).reshape(a, b, c) + 1
#@ coven module note(in f64 x[...])
def note(x):
    noted.append(np.array(x))
#@ coven module box(in i64 h, in i64 g, in f64 u[m, n, c], out f64 v[m, n, c])
def box(h, g, u):
    v = np.full_like(u, -1)
    inner = np.lib.stride_tricks.sliding_window_view(u, (2 * h + 1, 2 * g + 1), (0, 1))
    v[h : len(u) - h, g : u.shape[1] - g] = inner.sum((-1, -2))
    return v
#@ coven module twice(in f64 x[m, b, c], out f64 y[m, b, c])
def twice(x):
    return 2 * x
#@ coven module bump(inout f64 x[m, b, c])
def bump(x):
    x += 1
#@ coven module both(in f64 x[m, b, c], in f64 y[n, b, c])
def both(x, y):
    sizes.append((len(x), len(y)))
#@ coven module alike(in f64 x[m, b, c], in f64 y[m, b, c])
def alike(x, y):
    pass
def backwards(extent, partitions):
    return (extent - 1 - np.arange(extent)) % partitions
def scattered(extent, partitions):
    return [part[::-1] for part in np.array_split(np.random.default_rng(7).permutation(extent), partitions)]
"""
PLACES = {
    "one node": {},
    "two nodes": {"nodes": lambda rank: rank % 2},
    "no shared memory": {"shared_memory": False},
}
KINDS = ["block({})", "cyclic({})", "block_cyclic({}, 2)", "backwards({})", "scattered({})"]
quick = settings(deadline=None, max_examples=some_of(12))
"""A slow machine is no failure."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dealing")
    (folder / "deal.py").write_text(MODULES)
    return folder


def carry_out(folder, body, partition="P = procs", processors=3, shape=(4, 4, 4), **place):
    """Run a program's body; gives what it noted, and the statistics of its calls."""
    values = dict(zip("ABC", shape, strict=True))
    text = f"""coven 1
import "deal.py" {{ make, note, box, twice, bump, both, alike, backwards, scattered }}
param i64 A = 1
param i64 B = 1
param i64 C = 1
partition {partition}
program deal {{
{body}
}}
"""
    program = compile_program(text, folder / "deal.coven")
    user = import_python(str(folder / "deal.py"), "deal.py")
    user.noted.clear()
    user.sizes.clear()
    result = run(make_job(program, processors, values=values, **place), poison=True)
    return user.noted, result


def numbered(shape):
    return np.arange(math.prod(shape), dtype=float).reshape(shape) + 1


@st.composite
def dealings(draw, grid):
    """How an array of three axes is distributed over such a grid."""
    count = draw(st.sampled_from([1, len(grid)]))
    axes = sorted(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count, unique=True)))
    return draw(st.sampled_from(KINDS)).format(", ".join(map(str, axes)))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("processors", [1, 3])
def test_whatever_is_dealt_out_and_anew_comes_together_again(folder, place, processors):
    @quick
    @given(
        st.data(), st.lists(st.integers(1, 3), min_size=1, max_size=3), st.tuples(*[st.integers(0, 7)] * 3)
    )
    def check(data, grid, shape):
        one, two, three = (data.draw(dealings(grid)) for _ in range(3))
        layout = f" as grid({', '.join(map(str, grid))})" if len(grid) > 1 else ""
        noted, _ = carry_out(
            folder,
            f"""
            thread_A make(A, B, C) -> x
            thread_A scatter(x) -> a @ {one}
            PARALLEL over P {{
              thread_B redistribute(a) -> b @ {two}
              thread_C transpose(b) -> c @ {three}
            }}
            thread_A gather(c) -> y
            thread_A note(y)
            thread_A gather(a) -> z
            thread_A note(z)
            """,
            f"P = {math.prod(grid)}{layout}",
            processors,
            shape,
            **PLACES[place],
        )
        np.testing.assert_array_equal(noted[0], numbered(shape).swapaxes(1, 2))
        np.testing.assert_array_equal(noted[1], numbered(shape))

    check()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("processors", [1, 3])
def test_a_halo_shows_all_neighbours_and_beyond_the_edge_zero_or_the_other_end(folder, place, processors):
    @quick
    @given(
        st.tuples(st.integers(0, 2), st.integers(1, 2)),
        st.sampled_from([(), (0,), (1,), (0, 1)]),
        st.tuples(st.integers(1, 3), st.integers(1, 3)),
        st.tuples(st.integers(6, 9), st.integers(6, 9), st.integers(1, 2)),
    )
    def check(widths, periodic, grid, shape):
        halo, axes = ", ".join(map(str, widths)), ", ".join(map(str, periodic))
        given = f", periodic = ({axes})" if periodic else ""
        noted, _ = carry_out(
            folder,
            f"""
            thread_A make(A, B, C) -> x
            var f64[A, B, C] @ block(0, 1) halo({halo}) u
            var f64[A, B, C] @ block(0, 1) halo({halo}) v
            thread_A scatter(x) -> u
            for k in 0 .. 2 {{
              PARALLEL over P {{ thread_C exchange(u{given})  thread_B box({halo}, u) -> v }}
              swap(u, v)
              PARALLEL over P {{ thread_B redistribute(u) -> w @ cyclic(0) }}
              PARALLEL over P {{ thread_B redistribute(w) -> u }}
            }}
            thread_A gather(u) -> y
            thread_A note(y)
            """,
            f"P = {math.prod(grid)} as grid({grid[0]}, {grid[1]})",
            processors,
            shape,
            **PLACES[place],
        )
        expected = numbered(shape)
        for _ in range(2):
            around = expected
            for axis, width in enumerate(widths):
                frame = [(width, width) if axis == number else (0, 0) for number in range(3)]
                around = np.pad(around, frame, mode="wrap" if axis in periodic else "constant")
            window = tuple(2 * width + 1 for width in widths)
            expected = np.lib.stride_tricks.sliding_window_view(around, window, (0, 1)).sum((-1, -2))
        np.testing.assert_array_equal(noted[0], expected)

    check()


RING = """
  thread_A make(A, B, C) -> x
  thread_A scatter(x) -> a @ block(0)
  let visiting = copy(a)
  for hop in 0 .. P {
    PARALLEL over P {
      thread_C shift(visiting, by = BY) -> next
      thread_B twice(visiting) -> doubled
      thread_B bump(visiting)
    }
    swap(visiting, next)
  }
  thread_A gather(visiting) -> y
  thread_A note(y)
  thread_A gather(a) -> z
  thread_A note(z)
"""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("processors", "count", "by"), [(1, 1, 1), (1, 5, -2), (3, 3, 1), (3, 7, 3)])
def test_shifted_all_the_way_round_every_piece_is_home(folder, place, processors, count, by):
    """Neighbours that change what they were handed change it for themselves only; sizes may differ."""
    noted, result = carry_out(
        folder, RING.replace("BY", str(by)), f"P = {count}", processors, (8, 2, 2), **PLACES[place]
    )
    np.testing.assert_array_equal(noted[0], numbered((8, 2, 2)))
    np.testing.assert_array_equal(noted[1], numbered((8, 2, 2)))
    if place == "one node":
        assert result.sites["shift"]["copied"] == 0


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("processors", "grid"), [(1, (2, 3)), (4, (4, 1)), (3, (3, 2))])
def test_pieces_are_shifted_along_an_axis_of_the_grid(folder, place, processors, grid):
    noted, _ = carry_out(
        folder,
        """
  thread_A make(A, B, C) -> x
  thread_A scatter(x) -> a @ block(0, 1)
  PARALLEL over P { thread_B shift(a, axis = 1) -> b  thread_C shift(a, by = -1, axis = 0) -> c }
  thread_A gather(b) -> y
  thread_A note(y)
  thread_A gather(c) -> z
  thread_A note(z)
  thread_A note(x)""",
        f"P = {math.prod(grid)} as grid{grid}",
        processors,
        (2 * grid[0], 3 * grid[1], 2),
        **PLACES[place],
    )
    np.testing.assert_array_equal(noted[0], np.roll(noted[2], 3, axis=1))
    np.testing.assert_array_equal(noted[1], np.roll(noted[2], -2, axis=0))


def test_pieces_that_are_only_read_are_handed_on_without_a_copy(folder):
    body = RING.replace("BY", "1").replace("twice(visiting) -> doubled", "both(visiting, a)")
    _, result = carry_out(folder, body.replace("thread_B bump(visiting)", ""))
    copied = {label: figures["copied"] for label, figures in result.sites.items()}
    assert copied["shift"] == copied["both"] == 0


def test_a_module_sees_the_size_of_the_piece_that_came(folder):
    body = """
      thread_A make(A, B, C) -> x
      thread_A scatter(x) -> a @ block(0)
      PARALLEL over P {
        thread_B shift(a) -> b  thread_B both(a, b)
        thread_B twice(b) -> c  thread_B both(b, c)
        thread_B copy(b) -> d   thread_B both(b, d)
      }
    """
    carry_out(folder, body, "P = 3", 1, (7, 1, 1))
    user = import_python(str(folder / "deal.py"), "deal.py")
    assert sorted(user.sizes) == [(2, 2)] * 5 + [(2, 3), (3, 2), (3, 3), (3, 3)]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("thread_A gather(b) -> y", "piece 0 of `b` is 2 × 1 × 1 here, but 3 × 1 × 1 is expected"),
        ("PARALLEL over P { thread_B alike(a, b) }", "`b` is . × 1 × 1 here, but . × 1 × 1 is expected"),
        (
            "PARALLEL over P { thread_B redistribute(b) -> c @ block(1) }\n thread_A gather(c) -> y",
            "`b` is . × 1 × 1 here, but . × 1 × 1 is expected",
        ),
    ],
)
def test_a_shifted_piece_of_the_wrong_size_is_named(folder, statement, words):
    body = f"""
      thread_A make(A, B, C) -> x
      thread_A scatter(x) -> a @ block(0)
      PARALLEL over P {{ thread_B shift(a) -> b }}
      {statement}
    """
    with pytest.raises(RunError, match=words) as failure:
        carry_out(folder, body, "P = 3", 3, (7, 1, 1))
    assert "deal.coven:" in failure.value.message


def test_moving_between_block_and_cyclic_copies_every_element_once(folder):
    """On one node, assembling is the only copy; a gather where all pieces lie side by side is none."""
    body = """
      thread_A make(A, B, C) -> x
      thread_A scatter(x) -> a @ block(0)
      PARALLEL over P {
        thread_B redistribute(a) -> b @ block_cyclic(0, 3)
        thread_B redistribute(b) -> c @ block(0)
      }
      thread_A gather(c) -> y
      thread_A note(y)
    """
    noted, result = carry_out(folder, body, "P = 3", 3, (60, 4, 2))
    size = numbered((60, 4, 2)).nbytes
    np.testing.assert_array_equal(noted[0], numbered((60, 4, 2)))
    copied = {label: figures["copied"] for label, figures in result.sites.items()}
    assert (copied["scatter"], copied["redistribute"], copied["gather"]) == (0, 2 * size, 0)


@pytest.mark.parametrize("place", PLACES)
def test_a_piece_that_stays_whole_is_handed_on_without_a_copy(folder, place):
    """Where the array is read again, what the result's changes must not reach is copied."""
    body = """
      thread_A make(A, B, C) -> x
      thread_A scatter(x) -> a @ block(0)
      PARALLEL over P {
        thread_B twice(a) -> b
        thread_C redistribute(b) -> c @ block_cyclic(0, 2)
        thread_B bump(inout c)
        thread_C redistribute(c) -> d @ block(0)
        thread_B bump(inout d)
      }
      thread_A gather(d) -> y
      thread_A note(y)
    """
    again = "thread_A gather(c) -> z thread_A note(z)"
    for kept in (False, True):
        noted, result = carry_out(folder, body + again * kept, "P = 3", 3, (6, 2, 2), **PLACES[place])
        expected = [2 * numbered((6, 2, 2)) + more for more in ((2, 1) if kept else (2,))]
        np.testing.assert_array_equal(noted, expected)
        assert result.sites["redistribute"]["copied"] == kept * numbered((6, 2, 2)).nbytes


def test_a_piece_that_stays_whole_is_copied_with_others_that_do_not(folder):
    """It is a view of an array whose memory is free as soon as all pieces of it are copied."""
    body = """
      thread_A make(A, B, C) -> x
      thread_A scatter(x) -> a @ block(0)
      PARALLEL over P { thread_B redistribute(a) -> b @ block_cyclic(0, 2) }
      thread_A gather(b) -> y
      thread_A note(y)
    """
    noted, result = carry_out(folder, body, "P = 3", 3, (4, 2, 2))
    np.testing.assert_array_equal(noted, [numbered((4, 2, 2))])
    assert result.sites["redistribute"]["copied"] == numbered((4, 2, 2)).nbytes


@pytest.mark.parametrize("place", PLACES)
def test_a_copy_of_what_nobody_reads_any_more_is_the_array_itself(folder, place):
    body = """
      thread_A make(A, B, C) -> x
      thread_A scatter(x) -> a @ block(0)
      PARALLEL over P {
        thread_B twice(a) -> b
        thread_B copy(b) -> c
        thread_B bump(inout c)
      }
      thread_A gather(c) -> y
      thread_A note(y)
    """
    again = "thread_A gather(b) -> z thread_A note(z)"
    for kept in (False, True):
        noted, result = carry_out(folder, body + again * kept, "P = 3", 2, (7, 2, 2), **PLACES[place])
        expected = [2 * numbered((7, 2, 2)) + more for more in ((1, 0) if kept else (1,))]
        np.testing.assert_array_equal(noted, expected)
        assert result.sites["copy"]["copied"] == kept * numbered((7, 2, 2)).nbytes
