"""Configurations are read as they are written; what is wrong is named with file and line."""

import signal

import pytest

from pse._abi.emulate import StepKind
from pse.emulate import (
    Application,
    Configuration,
    ConfigurationError,
    RecordedProgram,
    Step,
    check_configuration,
    read_configuration,
)
from pse.emulate.configuration._placement import Nodes, place_applications
from pse.emulate.job._exchange_measurement import rounds_of
from pse.emulate.patterns import _registry, _user_code

GOOD = """\
[run]
launches = 12
seed = 5

[exchanges]
sizes = [1, "4 KiB"]

[[applications]]
name = "halo"
pattern = "cartesian"
ranks = 4
dimensions = [2, 2]
sizes = ["1 KiB", "1MiB"]
loads = [10, 80]
blocking = false

[[applications]]
pattern = "alltoall"
start = 0.5
nodes = ["n1", 0]
"""


def read(tmp_path, text, ranks=6, **settings):
    file = tmp_path / "ace.toml"
    file.write_text(text)
    return read_configuration(file, ranks, **settings)


def test_a_configuration_is_read_with_its_defaults(tmp_path):
    found = read(tmp_path, GOOD)
    assert (found.launches, found.seed, found.exchange_sizes) == (12, 5, (1, 4096))
    halo, other = found.applications
    assert (halo.name, halo.ranks, halo.sizes, halo.loads) == ("halo", 4, (1024, 1 << 20), (10.0, 80.0))
    assert (dict(halo.options), halo.blocking) == ({"dimensions": [2, 2]}, False)
    assert (other.name, other.ranks, other.start, other.nodes) == ("alltoall-1", 2, 0.5, ("n1", 0))
    together = [setting for setting in found.settings() if not setting.alone]
    assert len(together) == 4
    assert len(found.settings()) == 4 + 4 + 1


def test_dotted_keys_are_named_with_their_own_line(tmp_path):
    with pytest.raises(ConfigurationError, match=r"ace\.toml:2: .*foo"):
        read(tmp_path, f"run.launches = 1\nrun.foo = 2\n{APPLICATION}")
    with pytest.raises(ConfigurationError, match=r"ace\.toml:1: launches"):
        read(tmp_path, f'run . "launches" = 0\nrun.seed = 2\n{APPLICATION}')


def test_ranks_that_the_job_has_otherwise_or_that_do_nothing_are_told(tmp_path):
    def told(text, ranks=None):
        said = []
        found = read(tmp_path, text, ranks, say=said.append)
        return found.ranks, [line.removeprefix(str(tmp_path)) for line in said]

    run, given = "[run]\nranks = 4\n", "[exchanges]\nalpha = 1e-6\nbeta = 0\n"
    assert told(run + APPLICATION) == (4, [])
    assert told(run + APPLICATION, 4) == (4, [])
    other = ["/ace.toml:2: ranks = 4 doesn't count: the job has 2 ranks"]
    assert told(run + APPLICATION, 2) == (2, other)
    idle = "/ace.toml: the applications have 2 of the job's 4 ranks: the rest "
    assert told(APPLICATION + "ranks = 2\n", 4) == (4, [idle + "only exchanges messages"])
    assert told(given + APPLICATION + "ranks = 2\n", 4) == (4, [idle + "does nothing"])


def test_dimensions_and_recorded_programs_say_how_many_ranks_they_need(tmp_path):
    grid = '[[applications]]\npattern = "cartesian"\ndimensions = [2, 3]\n'
    assert read(tmp_path, grid, None).ranks == 6
    both = read(tmp_path, grid + '[[applications]]\npattern = "pairwise"\n', 8)
    assert [one.ranks for one in both.applications] == [6, 2]
    steps = tuple((Step(StepKind.SEND, 1, 8),) if rank == 0 else () for rank in range(2))
    RecordedProgram((steps[0], (Step(StepKind.RECEIVE, 0, 8),), ())).save(tmp_path / "own.npz")
    assert read(tmp_path, '[[applications]]\nprogram = "own.npz"\n', None).ranks == 3


APPLICATION = '[[applications]]\npattern = "pairwise"\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[run]\nlaunchs = 3\n" + APPLICATION, 2, "unknown key `launchs` in [run]"),
        (APPLICATION + "load = 30\n", 3, "unknown key `load` in [applications]"),
        (APPLICATION + "[runs]\n", 3, "unknown key `runs` in the file"),
        (APPLICATION + "[[run]]\n", 3, "run must be a table"),
        (
            APPLICATION + "cycles = 1_000_000_000\n",
            3,
            "the times of 1,000,000,000 cycles of 6 ranks, in 1 setting",
        ),
        (APPLICATION + "ranks = 2\nstart = 1e300\n", 4, "start = 1e+300: expected seconds from 0 to 86400"),
        (APPLICATION + 'name = "a\\nb"\n', 3, "name = 'a\\nb': expected a text on one line"),
        ("[exchanges]\nalpha = 0\nbeta = 0\n" + APPLICATION, 2, "alpha and beta are both 0"),
        (
            "[exchanges]\nalpha = 1e4\nbeta = 0\n" + APPLICATION + "loads = 1\n",
            6,
            "by alpha and beta a cycle",
        ),
        (
            "[exchanges]\nalpha = 1\nbeta = 0\nloggp = true\n" + APPLICATION,
            4,
            "loggp = true measures exchanges",
        ),
        (
            '[run]\nprediction = "model"\n[exchanges]\nalpha = 1\nbeta = 0\n' + APPLICATION,
            2,
            "so they predict",
        ),
        ('[[applications]]\npattern = "cartesian"\nperiodic = "no"\n', 3, "periodic = 'no': expected true"),
        (
            '[[applications]]\npattern = "broadcast"\nroot = 1979-05-27\n',
            3,
            "root = 1979-05-27: expected a value",
        ),
        (
            APPLICATION + 'ranks = 2\nname = "a alone"\n' + APPLICATION + 'name = "a"\n',
            4,
            "results have the name a alone",
        ),
        (APPLICATION + "loads = [10, 0]\n", 3, "loads has 0: expected a percentage from 1 to 100"),
        (APPLICATION + "loads = 101\n", 3, "loads has 101: expected a percentage from 1 to 100"),
        (APPLICATION + 'sizes = ["1 KiB", "2 GiB"]\n', 3, "sizes has '2 GiB': expected a size below 2 GiB"),
        (APPLICATION + "ranks = 8\n", 3, "the applications need at least 8 ranks, and the job has 6"),
        (APPLICATION + "ranks = 3\n", 3, "3 ranks leave one without a partner"),
        (APPLICATION + "background = true\n", 3, "all applications are in the background"),
        (APPLICATION + 'blocking = "no"\n', 3, "blocking = 'no': expected true or false"),
        (APPLICATION + "root = 1\n", 3, "unknown key `root`"),
        (APPLICATION.replace("pair", "pear"), 2, "there is no pattern 'pearwise'"),
        ('[[applications]]\nname = "a"\n', 1, "the application has no pattern"),
        (APPLICATION + 'name = "a"\nranks = 2\n' + APPLICATION + 'name = "a"\n', 7, "two applications"),
        ("[exchanges]\nalpha = 1e-6\n" + APPLICATION, 2, "alpha is given, but beta isn't"),
        ("[run]\nlaunches = 20\nmost_launches = 10\n" + APPLICATION, 3, "less than launches = 20"),
        ("[run]\ntime = \n" + APPLICATION, 2, "no value can be read behind the `=`"),
        ("", 1, "there are no applications"),
        (
            '[[applications]]\npattern = "cartesian"\nranks = 6\ndimensions = [2, 2]\n',
            4,
            "dimensions = 2 × 2 are 4 ranks, not 6",
        ),
        (
            '[[applications]]\npattern = "cartesian"\ndimensions = [2, 4]\n',
            3,
            "the applications need at least 8 ranks, and the job has 6",
        ),
        ('[[applications]]\npattern = "wavefront"\ndimensions = "2x2"\n', 3, "expected 1 to 3 integers"),
        (
            '[[applications]]\npattern = "alltoall"\nsizes = "2047 MiB"\nranks = 6\n',
            3,
            "messages of 2 GiB among 6 ranks need",
        ),
        (
            '[exchanges]\nsizes = "1 GiB"\n' + APPLICATION,
            2,
            "messages of 1 GiB need 12.0 GiB for the ranks of",
        ),
        ('[run]\npatterns = "none.py"\n' + APPLICATION, 2, "there is no Python file"),
        ("[exchanges]\nsizes = [1, 2\n\nrepetitions = 3\n" + APPLICATION, 2, "this list is never closed"),
        ("[exchanges]\nsizes = [1, 2", 2, "this list is never closed"),
        ('[run]\nname = "a\n' + APPLICATION, 2, "this text has no closing quote on its line"),
        ("[run\n" + APPLICATION, 1, "the name of this table is not closed"),
        ("[run]\ntime: 3\n" + APPLICATION, 2, "this key has no `=` behind it"),
        ("[run]\ntime = 3\ntime = 4\n" + APPLICATION, 3, "this name is given twice"),
        ("[run]\ntime = 3 launches = 4\n" + APPLICATION, 2, "something stands behind the value"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path, monkeypatch, text, line, words):
    monkeypatch.setattr("pse.emulate.configuration._checks.memory_figures", _Memory)
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)
    assert f"ace.toml:{line}: " in caught.value.message
    assert words in caught.value.message
    assert caught.value.help


def test_memory_is_that_of_a_node_for_all_applications_on_it(tmp_path, monkeypatch):
    monkeypatch.setattr("pse.emulate.configuration._checks.memory_figures", _Memory)
    text = '[[applications]]\npattern = "pairwise"\nsizes = "700 MiB"\n'
    assert read(tmp_path, text, 2).ranks == 2
    words = "700 MiB among 4 ranks need 5.47 GiB on a node that has 4 ranks, and 4.00 GiB are available"
    with pytest.raises(ConfigurationError, match=rf"ace\.toml:3: messages of {words}"):
        read(tmp_path, text, 4)
    assert read(tmp_path, text, 4, per_node=lambda ranks: ranks // 2).ranks == 4
    both = text + 'ranks = 2\nname = "a"\n' + text + 'ranks = 2\nname = "b"\n'
    with pytest.raises(ConfigurationError, match="beside the other applications need 5"):
        read(tmp_path, both, 4)
    found = read(tmp_path, both, 4, per_node=lambda ranks: 2)
    with pytest.raises(ConfigurationError, match="on a node that has 4 ranks"):
        check_configuration(found)
    check_configuration(found, 2)
    many = "[run]\nranks = 1_000_000_000\n" + APPLICATION
    with pytest.raises(ConfigurationError, match=r"ace\.toml:2: 1,000,000,000 ranks on a node need at least"):
        read(tmp_path, many, None)
    grid = '[[applications]]\npattern = "cartesian"\ndimensions = [100_000, 10_000]\n'
    with pytest.raises(ConfigurationError, match=r"ace\.toml:3: 1,000,000,000 ranks on a node need at least"):
        read(tmp_path, grid, None)


class _Memory:
    """Four GiB that are available, whatever the machine has."""

    available = 1 << 32


def test_a_pattern_whose_ranks_would_wait_for_ever_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_registry, "PATTERNS", dict(_registry.PATTERNS))
    (tmp_path / "mine.py").write_text(
        "from pse.ace import pattern\n\n@pattern('stuck')\ndef stuck(cycle):\n"
        "    cycle.receive(cycle.rank ^ 1)\n"
    )
    text = '[run]\npatterns = ["mine.py"]\n[[applications]]\npattern = "stuck"\n'
    with pytest.raises(
        ConfigurationError, match=r"ace\.toml:4: the ranks would wait for each other for ever"
    ):
        read(tmp_path, text, 2)


@pytest.mark.parametrize(
    ("pattern", "line", "words"),
    [
        (
            "@pattern('mine')\ndef mine(cycle):\n    1 / 0\n",
            4,
            "for rank 0 of 2: ZeroDivisionError: division",
        ),
        (
            "@pattern('mine')\ndef mine(cycle):\n    cycle.exchange(5)\n",
            4,
            "5 is not a rank: expected an integer",
        ),
        ("@pattern('mine')\ndef mine(cycle):\n    pass\n", 4, "the pattern mine adds no step"),
        ("@pattern('mine', check=lambda *_: 1 / 0)\ndef mine(cycle):\n    pass\n", 4, "fails in its check"),
        (
            "@pattern('mine', options=['ranks'])\ndef mine(cycle):\n    pass\n",
            4,
            "are keys of all applications",
        ),
        ("@pattern\ndef mine(cycle):\n    pass\n", 2, "a pattern needs a name"),
        ("@pattern('mine', variants=0)\ndef mine(cycle):\n    pass\n", 2, "has variants = 0"),
        ("raise SystemExit(3)\n", 2, "can't be executed: SystemExit: 3"),
        (
            "@pattern('pairwise')\ndef mine(cycle):\n    pass\n",
            2,
            "mine.py can't be executed: there is a pattern 'pairwise' already, which comes with pse (",
        ),
        (
            "@pattern('mine')\ndef mine(cycle):\n    pass\n@pattern('mine')\ndef other(cycle):\n    1\n",
            2,
            "there is a pattern 'mine' already, in line 2 of ",
        ),
    ],
)
def test_a_pattern_that_fails_is_named_with_its_line(tmp_path, monkeypatch, pattern, line, words):
    monkeypatch.setattr(_registry, "PATTERNS", dict(_registry.PATTERNS))
    (tmp_path / "mine.py").write_text("from pse.ace import pattern\n" + pattern)
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, '[run]\npatterns = "mine.py"\n[[applications]]\npattern = "mine"\n', 2)
    assert f"ace.toml:{line}: " in caught.value.message
    assert words in caught.value.message
    if "mine fails" in caught.value.message or "mine.py can't be" in caught.value.message:
        assert "mine.py, line " in caught.value.message


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("@pattern('mine')\ndef mine(cycle):\n    while True:\n        pass\n", "fails for rank 0 of 2"),
        (
            "@pattern('mine')\ndef mine(cycle):\n    while True:\n        try:\n            cycle.send(1)\n"
            "        except Exception:\n            pass\n",
            "fails for rank 0 of 2",
        ),
        (
            "def check(*_):\n    while True: pass\n@pattern('mine', check=check)\ndef mine(cycle): 1\n",
            "in its",
        ),
        (  # What comes while an object is taken away is lost.
            "import time\nclass Lost:\n    def __del__(self):\n        time.sleep(0.3)\n"
            "@pattern('mine')\ndef mine(cycle):\n    Lost()\n    while True: pass\n",
            "fails for rank 0 of 2",
        ),
        ("while True:\n    pass\n", "mine.py can't be executed"),
    ],
)
def test_a_pattern_that_never_ends_is_named_with_its_line(tmp_path, monkeypatch, pattern, words):
    monkeypatch.setattr(_registry, "PATTERNS", dict(_registry.PATTERNS))
    monkeypatch.setattr(_user_code, "PATIENCE", 0.2)
    (tmp_path / "mine.py").write_text("from pse.ace import pattern\n" + pattern)
    handler, left = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0]
    with pytest.raises(ConfigurationError, match=r"mine\.py, line \d") as caught:
        read(tmp_path, '[run]\npatterns = "mine.py"\n[[applications]]\npattern = "mine"\n', 2)
    assert words in caught.value.message
    assert ": it takes longer than 0.2 s (" in caught.value.message
    assert caught.value.help == "make sure that its loops end"
    assert signal.getsignal(signal.SIGALRM) == handler
    after = signal.getitimer(signal.ITIMER_REAL)[0]  # An alarm of the program's own goes on.
    assert 0 < after < left if left else after == 0


def test_a_configuration_made_in_python_is_checked_too():
    with pytest.raises(ConfigurationError, match="the application a: there is no pattern"):
        check_configuration(Configuration((Application("a", "none", 2, (1,), (50.0,)),), 2))


def application(ranks, **settings):
    return Application("a", "alltoall", ranks, (1,), (50.0,), **settings)


def test_applications_are_placed_packed_spread_and_on_chosen_nodes():
    nodes = Nodes([0, 0, 1, 1, 2, 2], ["n0", "n1", "n2"])
    assert place_applications([application(3), application(3)], nodes) == [[0, 1, 2], [3, 4, 5]]
    assert place_applications([application(3, placement="spread")], nodes) == [[0, 2, 4]]
    both = [application(2), application(2, nodes=("n0",))]
    assert place_applications(both, nodes) == [[2, 3], [0, 1]]
    with pytest.raises(ConfigurationError, match="needs 3 ranks, and its nodes n0 have 2 left"):
        place_applications([application(3, nodes=(0,))], nodes)
    with pytest.raises(ConfigurationError, match="there is no node n7"):
        place_applications([application(2, nodes=("n7",))], nodes)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('nodes = ["n0", "n7"]', "there is no node n7: the nodes of the job are n0 and n1"),
        ("nodes = 2", "there is no node 2: the job has 2 nodes"),
        ('nodes = "n0"', "it needs 4 ranks, and its nodes n0 have 3 left"),
    ],
)
def test_nodes_that_are_not_there_are_named_before_anything_starts(tmp_path, keys, words):
    text = '[[applications]]\npattern = "alltoall"\nranks = 4\n' + keys + "\n"
    there = Nodes((0, 0, 0, 1, 1, 1), ("n0", "n1"))
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text, nodes=lambda ranks: there)
    assert f"ace.toml:4: {words}" in caught.value.message
    found = read(tmp_path, text)  # Nobody knows the nodes.
    with pytest.raises(ConfigurationError, match=f"the application alltoall-0: {words}"):
        check_configuration(found, nodes=there)


@pytest.mark.parametrize("ranks", range(2, 9))
def test_in_a_matrix_every_pair_meets_once(ranks):
    rounds = rounds_of(ranks, matrix=True)
    assert all(partners[partners[rank]] == rank for partners in rounds for rank in range(ranks))
    met = [(rank, partners[rank]) for partners in rounds for rank in range(ranks) if partners[rank] > rank]
    assert sorted(met) == [(one, other) for one in range(ranks) for other in range(one + 1, ranks)]


def test_text_that_is_not_utf_8_is_named_with_its_line(tmp_path):
    (tmp_path / "ace.toml").write_bytes(b"[run]\n# Verst\xe4rker\n")
    with pytest.raises(ConfigurationError, match=r"ace\.toml:2: the text is not UTF-8"):
        read_configuration(tmp_path / "ace.toml", 2)


def test_a_byte_order_mark_is_no_part_of_the_configuration(tmp_path):
    (tmp_path / "ace.toml").write_text(f"\ufeff{APPLICATION}", encoding="utf-8")
    assert len(read_configuration(tmp_path / "ace.toml", 2).applications) == 1
