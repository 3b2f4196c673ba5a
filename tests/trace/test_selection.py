"""Selections: what the command line says, what they leave, and what to say when that is nothing."""

import re

import pytest
from pse_testing.traces import small_definitions, write_rank

from pse import trace
from pse.trace import Selection


@pytest.fixture
def read(small_trace):
    return trace.open(small_trace)


def test_words_become_a_selection():
    made = Selection.parse(
        ["root", "0-2,7"], ["B", "thread_C"], ["5"], ["fft.rows,load"], ["1-2"], begin=0.5, end=2
    )
    assert made.processors == {None, 0, 1, 2, 7}
    assert made.threads == {"thread_B", "thread_C"}
    assert made.ranks == {5}
    assert made.modules == {"fft.rows", "load"}
    assert made.tphs == {1, 2}
    assert (made.begin, made.end) == (0.5, 2)
    assert Selection.parse() == Selection()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"processor": ["x"]}, "processor 'x': expected a number or a range like 0-3, or root"),
        ({"rank": ["-1"]}, "rank '-1': expected a number or a range like 0-3$"),
        ({"rank": ["3-1"]}, "rank '3-1': a range must go up"),
        ({"tph": ["0-99999999999"]}, "a range must go up, and by less than 1,000,000"),
        ({"rank": ["²"]}, "expected a number"),
        ({"rank": [" ,"]}, "an empty name was selected; give a name or a number"),
        ({"tph": ["99999999999999999999"]}, "a number has at most 64 bits"),
        ({"tph": ["k=x"]}, "TPH k = 'x': expected a number or a range like 0-3"),
        ({"begin": 2, "end": 1}, r"the time window ends at 1 s, before it begins at 2 s"),
        ({"end": float("nan")}, "not at nan"),
    ],
)
def test_words_that_select_nothing_possible_are_refused(words, message):
    with pytest.raises(trace.TraceError, match=message):
        Selection.parse(**words)


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ({}, (0, 1, 2)),
        ({"processor": ["root"]}, (0,)),
        ({"processor": ["0-9"]}, (1, 2)),
        ({"thread": ["B"], "processor": ["1"]}, (2,)),
        ({"rank": ["0,2"]}, (0, 2)),
    ],
)
def test_a_selection_leaves_the_ranks_it_names(read, words, ranks):
    assert Selection.parse(**words).ranks_of(read) == ranks


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"rank": ["7"]}, "the trace has no rank 7; it has 0, 1, 2"),
        ({"processor": ["5"]}, "the trace has no processor 5; it has root, 0, 1"),
        ({"thread": ["B,Z"]}, "the trace has no thread thread_Z; it has thread_A, thread_B"),
        ({"module": ["fft"]}, "the trace has no module fft; it has fft.rows, load_frame, rows"),
        ({"tph": ["9"]}, "the trace has no TPH 9"),
        ({"tph": ["k=9"]}, "the trace has no TPH with k=9"),
        (
            {"rank": ["0"], "thread": ["B"]},
            "no rank matches all that is selected; the trace has the ranks 0, 1, 2",
        ),
        ({"begin": 1.0}, "the time window lies outside of the run, which lasts from 0 to 0.000001 s"),
    ],
)
def test_a_selection_that_leaves_nothing_says_what_there_is(read, words, message):
    with pytest.raises(trace.TraceError, match=message):
        Selection.parse(**words).check(read)


def test_without_definitions_only_ranks_can_be_selected(small_trace):
    (small_trace / "definitions.json").unlink()
    read = trace.open(small_trace)
    assert Selection.parse(rank=["1"]).ranks_of(read) == (1,)
    with pytest.raises(trace.TraceError, match="the trace has no definitions, so a thread can't be selected"):
        Selection.parse(thread=["B"]).check(read)


@pytest.mark.parametrize(
    ("words", "name", "left"),
    [
        ({"module": ["rows"]}, "module_calls", 1),
        ({"module": ["load_frame"]}, "module_calls", 2),
        ({"module": ["load_frame"]}, "queue_depths", 2),
        ({"module": ["rows"]}, "queue_depths", 0),
        ({"tph": ["2"]}, "module_calls", 1),
        ({"rank": ["1"]}, "messages", 1),
        ({"rank": ["2"]}, "messages", 0),
        ({"begin": 450e-9}, "module_calls", 2),
        ({"end": 450e-9}, "module_calls", 1),
        ({"begin": 450e-9, "end": 550e-9}, "module_calls", 1),
        ({"begin": 0.2e-6, "end": 0.3e-6}, "waits", 2),
        ({"begin": 0.5e-6, "end": 0.8e-6}, "memory", 0),
    ],
)
def test_a_selection_leaves_the_rows_it_names(read, words, name, left):
    table = getattr(read, name)()
    assert len(Selection.parse(**words).of(read, table)) == left


@pytest.mark.parametrize(
    ("module", "left"),
    [
        ("smooth", 2),
        ("fft.smooth", 2),
        ("fft.smooth [l = 1, s = 0]", 1),
        ("add,fft.smooth [l = 1, s = 0]", 2),
    ],
)
def test_call_sites_of_unrolled_loops_are_selected_one_by_one_and_together(tmp_path, module, left):
    labels = ("fft.smooth [l = 0, s = 0]", "fft.smooth [l = 1, s = 0]", "add")
    sites = [
        trace.SiteDefinition(i, label, label.split()[0].split(".")[-1], "small.coven:9:14", "thread_A")
        for i, label in enumerate(labels)
    ]
    definitions = small_definitions(processors=0, sites=tuple(sites), edges=())
    trace.write_definitions(tmp_path, definitions)
    leave = trace.EventType.MODULE_LEAVE
    write_rank(tmp_path, 0, [{"time": 90 + site, "type": leave, "site": site, "b": 50} for site in range(3)])
    read, selection = trace.open(tmp_path), Selection.parse(module=[module])
    selection.check(read)
    assert len(selection.of(read, read.module_calls())) == left


def test_tphs_are_known_by_their_counters(tmp_path):
    trace.write_definitions(tmp_path, small_definitions(processors=0))
    rows = [
        {"time": 10 * value, "type": trace.EventType.CONTEXT_BEGIN, "tph": 70 + value, "b": value % 2**64}
        for value in (-1, 0, 1, 2)
    ]
    leave = trace.EventType.MODULE_LEAVE
    rows += [{"time": 50 + tph, "type": leave, "site": 0, "tph": tph, "b": 50} for tph in (69, 70, 71, 72)]
    write_rank(tmp_path, 0, [{**row, "time": row["time"] + 100} for row in rows])
    read = trace.open(tmp_path)
    for words, numbers in ((["k=0-1"], [70, 71]), (["k=-1,72"], [69, 72])):
        selection = Selection.parse(tph=words)
        assert selection.of(read, read.module_calls())["tph"].tolist() == numbers
        selection.check(read)


LEVELS = """coven 1
program levels {
  var f64 s[l in 0 .. 2] = l
  for l in 0 .. 2 {
    for k in 0 .. 3 inflight 2 { print(s[l], k) }
    var f64 left = 2.0
    while left > l max 5 { left = left - 1.0  print(s[l]) }
  }
}
"""


def test_loops_in_iterations_of_an_unrolled_loop_are_told_apart(pse, tmp_path):
    (tmp_path / "levels.coven").write_text(LEVELS)
    pse("run", "levels.coven", "--trace", "run", cwd=tmp_path)
    both = pse("trace", "follow", "run", "--tph", "k=1", cwd=tmp_path).err
    first, second = re.findall(r"(\d+) \(k \[l = [01]\] = 1\)", both)
    one = pse("trace", "follow", "run", "--tph", "k [l = 1]=1", cwd=tmp_path).out
    assert one.startswith(f"TPH {second} (k [l = 1] = 1), an iteration of the loop at line 5")
    read = trace.open(tmp_path / "run")
    for words, left in (("k=1", 2), ("k [l = 0]=0-2", 3), (first, 1)):
        selection = Selection.parse(tph=[words])
        selection.check(read)
        assert len(selection.of(read, read.module_calls())) == left
    around = [site.loops[0].counter for site in read.definitions.sites]
    assert around == ["k [l = 0]", "[l = 0]", "k [l = 1]", "[l = 1]"]
