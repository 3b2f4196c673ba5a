"""Sizes, times, counts, lists and places as people read them, and which known word a misspelt one means."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
"""Units of times, longest first: their ns, and their names."""
_PLACE = re.compile(r":([0-9]+:[0-9]+(?: → (?:[^→]*:)?[0-9]+:[0-9]+)*)$")


_TELLING_CALL, _TELLING_TOTAL = 50e3, 10e6
"""Nanoseconds: in less the clocks' own cost counts, or that CPU time of other threads comes in ticks."""


def number_text(value: float, digits: int = 3, *, zeros: bool = True) -> str:
    """Write a number with so many significant digits, at most three decimals, and no exponent.

    Parameters
    ----------
    value : float
        The number.
    digits : int, default 3
        How many digits count.  Digits before the decimal point are all written.
    zeros : bool, default True
        Whether zeros at the end of the decimals are written, as columns of numbers need it.

    Returns
    -------
    str
        The number, its thousands separated by commas.

    Examples
    --------
    >>> number_text(1.5), number_text(64), number_text(1234.5), number_text(0.052)
    ('1.50', '64.0', '1,234', '0.052')
    >>> number_text(1.5, zeros=False), number_text(64, zeros=False)
    ('1.5', '64')
    """
    decimals = 3
    if abs(value) >= 0.1 or not value:
        exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
        decimals = max(digits - 1 - max(exponent, 0), 0)
    written = f"{value:,.{decimals}f}"
    return written if zeros or "." not in written else written.rstrip("0").rstrip(".")


def size_text(count: float, digits: int = 3, *, zeros: bool = True) -> str:
    """Write a number of bytes in the binary unit that suits it.

    Parameters
    ----------
    count : float
        How many bytes.
    digits, zeros
        As `number_text` has them.

    Returns
    -------
    str
        For example ``64.0 MiB``, or ``64 MiB`` without `zeros`.

    Examples
    --------
    >>> size_text(0), size_text(512), size_text(1536), size_text(1 << 26)
    ('0 B', '512 B', '1.50 KiB', '64.0 MiB')
    >>> size_text(1 << 26, zeros=False), size_text(3 << 29, zeros=False)
    ('64 MiB', '1.5 GiB')
    """
    value, unit = float(count), 0
    while abs(value) >= 1024 and unit < len(_BINARY) - 1:
        value, unit = value / 1024, unit + 1
    return f"{number_text(value, digits, zeros=zeros and unit > 0)} {_BINARY[unit]}"


def time_text(nanoseconds: float, *, zeros: bool = True) -> str:
    """Write a time with three digits in the unit that suits it.

    Parameters
    ----------
    nanoseconds : float
        The time.
    zeros : bool, default True
        As `number_text` has it.

    Returns
    -------
    str
        For example ``1.23 s`` or ``250 ns``.

    Examples
    --------
    >>> time_text(250), time_text(5_600), time_text(12_300_000), time_text(1.5e9)
    ('250 ns', '5.60 µs', '12.3 ms', '1.50 s')
    >>> time_text(1.5e9, zeros=False), time_text(-5_600)
    ('1.5 s', '-5.60 µs')
    """
    if nanoseconds < 0:
        return f"-{time_text(-nanoseconds, zeros=zeros)}"
    for factor, unit in TIME_UNITS[:-1]:  # Whole nanoseconds are written without decimals.
        if nanoseconds >= 0.9995 * factor:
            return f"{number_text(nanoseconds / factor, zeros=zeros)} {unit}"
    return f"{nanoseconds:.0f} ns"


def ending_text(name: str, known: Iterable[str]) -> str:
    """Say that a file's name doesn't tell its format, or is no more than what tells it.

    Parameters
    ----------
    name : str
        The name.
    known : iterable of str
        The endings that tell a format.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> ending_text("a.xls", [".png", ".svg"])
    "the format can't be told from the name a.xls: it must end in .png or .svg"
    >>> ending_text("plots/.png", [".png", ".svg"])
    'the name plots/.png is only an ending: a name must stand before .png'
    """
    known = list(known)
    bare = name.rpartition("/")[2]
    if bare in known:
        return f"the name {name} is only an ending: a name must stand before {bare}"
    shown = f"the name {name}" if name else "an empty name"
    return f"the format can't be told from {shown}: it must end in {list_text(known, 'or')}"


def moment_text(nanoseconds: float) -> str:
    """Write a moment of a run to the microsecond.

    Parameters
    ----------
    nanoseconds : float
        Since the run's begin.

    Returns
    -------
    str
        The moment in seconds.

    Examples
    --------
    >>> moment_text(1_175_753_000)
    '1.175753 s'
    """
    return f"{nanoseconds / 1e9:.6f} s"


def duration_text(seconds: float) -> str:
    """Write how long something takes, roughly, in seconds, minutes or hours.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    str
        For example ``2.5 min``.

    Examples
    --------
    >>> duration_text(42), duration_text(150), duration_text(9000)
    ('42 s', '2.5 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def share_text(share: float, decimals: int = 0) -> str:
    """Write a share in percent.

    Parameters
    ----------
    share : float
        Of 1.
    decimals : int, default 0
        How many decimals are written.

    Returns
    -------
    str
        The share in percent.

    Examples
    --------
    >>> share_text(0.453), share_text(0.453, 1)
    ('45 %', '45.3 %')
    """
    return f"{100 * share:.{decimals}f} %"


def change_text(share: float) -> str:
    """Write by which share something is more or less.

    Parameters
    ----------
    share : float
        Of 1; negative if it is less.

    Returns
    -------
    str
        The change in percent, with its sign.

    Examples
    --------
    >>> change_text(0.0453), change_text(-1)
    ('+4.5 %', '-100.0 %')
    """
    return f"{100 * share:+.1f} %"


def cpu_share_text(share: float, total: float, calls: int = 1) -> str:
    """Write the share of CPU time of calls, unless they were so short that the clocks tell nothing.

    Parameters
    ----------
    share : float
        CPU time over run time.
    total : float
        Run time of the calls, ns.
    calls : int
        How many there were.

    Returns
    -------
    str
        ``–`` for calls of less than 50 µs, or of less than 10 ms together.

    Examples
    --------
    >>> cpu_share_text(0.5, 1e8, 100), cpu_share_text(0.5, 1e8, 100_000), cpu_share_text(0.5, 1e6)
    ('50 %', '–', '–')
    """
    telling = calls and total >= _TELLING_TOTAL and total / calls >= _TELLING_CALL
    return share_text(share) if telling else "–"


def count_text(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number of things.

    Parameters
    ----------
    number : int
        How many.
    noun : str
        What one of them is called.
    plural : str, optional
        What several are called, where it isn't the noun with an s.

    Returns
    -------
    str
        For example ``3 ranks``.

    Examples
    --------
    >>> count_text(1, "rank"), count_text(1200, "rank"), count_text(2, "axis", "axes")
    ('1 rank', '1,200 ranks', '2 axes')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def list_text(words: Iterable[str], last: str = "and") -> str:
    """Join words as a sentence lists them.

    Parameters
    ----------
    words : iterable of str
        What is listed.
    last : str, default "and"
        What stands before the last of several.

    Returns
    -------
    str
        For example ``a, b and c``; empty if there are no words.

    Examples
    --------
    >>> list_text("abc"), list_text(["a", "b"], "or"), list_text(["a"]), list_text([])
    ('a, b and c', 'a or b', 'a', '')
    """
    *first, final = [*words] or [""]
    return f"{', '.join(first)} {last} {final}" if first else final


def ranges_text(numbers: Sequence[int], dash: str = "-", separator: str = ", ") -> str:
    """Write numbers in ascending order, those that follow each other as ranges.

    Parameters
    ----------
    numbers : sequence of int
        What is listed, in ascending order.
    dash, separator : str
        What stands between the ends of a range, and between ranges.

    Returns
    -------
    str
        For example ``0-3, 7``.

    Examples
    --------
    >>> ranges_text([0, 1, 2, 3, 7]), ranges_text([0, 1, 3], " to ")
    ('0-3, 7', '0 to 1, 3')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return separator.join(f"{run[0]}{dash}{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def split_place(place: str) -> tuple[str, list[tuple[int, int]]]:
    """Split a place in a program; in a segment it begins with the calls that lead there.

    Parameters
    ----------
    place : str
        ``file:line:col``; in a segment ``file:line:col → line:col``, or ``file:line:col → file:line:col``.

    Returns
    -------
    tuple of str and list of (int, int)
        The file, and lines with columns, the last of them the place itself; no lines if there are none.

    Examples
    --------
    >>> split_place("heat.coven:26:5 → 14:7"), split_place("module.so")
    (('heat.coven', [(26, 5), (14, 7)]), ('module.so', []))
    """
    found = _PLACE.search(place)
    if found is None:
        return place, []
    steps = [step.split(":")[-2:] for step in found[1].split(" → ")]
    return place[: found.start()], [(int(line), int(column)) for line, column in steps]


def program_line(place: str, *, columns: bool = False) -> str:
    """Give the line of a place; in a segment the lines of the calls that lead there, too.

    Parameters
    ----------
    place : str
        As `split_place` takes it.
    columns : bool, default False
        Whether the columns are written, too.

    Returns
    -------
    str
        The line; empty where the place has none.

    Examples
    --------
    >>> program_line("fft.coven:14:5"), program_line("heat.coven:26:5 → 14:7")
    ('14', '26 → 14')
    >>> program_line("heat.coven:26:5 → lib/ring.coven:14:7")
    '26 → ring.coven:14'
    """
    found = _PLACE.search(place)
    steps = [step.rpartition("/")[2].split(":") for step in found[1].split(" → ")] if found else []
    return " → ".join(":".join(step if columns else step[:-1]) for step in steps)


def site_label(name: str, rounds: Sequence[str]) -> str:
    """Give the label of a call site: what is called, and in which iterations of loops that are unrolled.

    Parameters
    ----------
    name : str
        What is called, as written.
    rounds : sequence of str
        The counters of such loops and their values, the outermost first.

    Returns
    -------
    str
        The label.

    Examples
    --------
    >>> site_label("fft.rows", []), site_label("smooth", ["l = 2", "s = 0"])
    ('fft.rows', 'smooth [l = 2, s = 0]')
    """
    return f"{name} [{', '.join(rounds)}]" if rounds else name


def called_name(label: str) -> str:
    """Give what is called, as written, from the label of a call site.

    Parameters
    ----------
    label : str
        As `site_label` makes it.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> called_name("fft.rows"), called_name("smooth [l = 2, s = 0]")
    ('fft.rows', 'smooth')
    """
    return label.partition(" [")[0]


def site_lines(sites: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Give the lines by which call sites are told apart, with columns where the lines don't do so.

    Parameters
    ----------
    sites : iterable of (str, str)
        Label and place of each call site.

    Returns
    -------
    dict
        The line of each label and place.

    Examples
    --------
    >>> list(site_lines([("rows", "a.coven:3:2"), ("rows", "a.coven:3:9"), ("add", "a.coven:4:2")]).values())
    ['3:2', '3:9', '4']
    """
    known = list(dict.fromkeys(sites))
    uses = Counter((label, program_line(place)) for label, place in known)
    return {
        (label, place): program_line(place, columns=uses[label, program_line(place)] > 1)
        for label, place in known
    }


def text_bytes(text: str) -> bytes:
    r"""Encode a text for people, whatever is in it: names of files may hold bytes that are not text.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    bytes
        UTF-8; what can't be encoded is written as Python writes it.

    Examples
    --------
    >>> text_bytes("caf\udce9.coven")
    b'caf\\udce9.coven'
    """
    return text.encode(errors="backslashreplace")


def printable_text(text: str) -> str:
    r"""Write what moves a terminal's cursor, or hides or turns what stands beside it, as Python writes it.

    Parameters
    ----------
    text : str
        The text, for instance a function's name: compilers and Python let anything be in it.

    Returns
    -------
    str
        The text in one line that shows all its characters.

    Examples
    --------
    >>> printable_text("fold\n\x1b[2J"), printable_text("café ∂u")
    ('fold\\n\\x1b[2J', 'café ∂u')
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\xa0" else ascii(one)[1:-1] for one in text)


def short_text(text: str, limit: int = 120) -> str:
    """Leave out the middle of what is too long to be read, as names of instances of templates are.

    Parameters
    ----------
    text : str
        The text.
    limit : int, default 120
        How many characters there may be.

    Returns
    -------
    str
        The text, or its begin and its end.

    Examples
    --------
    >>> short_text("solve"), short_text("solve<std::array<double, 3>, true>::run", 20)
    ('solve', 'solve<std::ar…>::run')
    """
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def exception_text(error: BaseException) -> str:
    """Give the text of an exception; some have none, since their own code for it fails.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    str
        What ``str(error)`` gives, or that it gives nothing.

    Examples
    --------
    >>> exception_text(ValueError("no such mode"))
    'no such mode'
    """
    try:
        return str(error)
    except Exception:
        return "(its text can't be made)"


def damage_text(error: BaseException) -> str:
    """Say what is wrong with a file, by what was raised when it was read as JSON or as NumPy's arrays.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    str
        Its text, in words for those who never see the code that reads.

    Examples
    --------
    >>> damage_text(KeyError("alpha"))
    "'alpha' is missing"
    """
    words = exception_text(error)
    if isinstance(error, KeyError):
        return f"{words} is missing"
    if isinstance(error, (TypeError, AttributeError)):
        return "a value in it is of another kind than expected"
    return "it has no array of NumPy" if "allow_pickle" in words else words


def nearest_word(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Find the known word that is nearest to a misspelt one, whatever their cases; None if none is near.

    Parameters
    ----------
    word : str
        What was written.
    known : iterable of str
        What could have been meant; of more than 2,000 words the first in alphabetical order count.
    cutoff : float, default 0.6
        How near it must be, from 0 to 1 (equal).

    Returns
    -------
    str or None
        One of the known words.

    Examples
    --------
    >>> nearest_word("Blok", ["block", "cyclic"])
    'block'
    """
    import difflib  # Most runs misspell nothing.

    lowered = {candidate.lower(): candidate for candidate in sorted(set(known))[:2000]}
    found = difflib.get_close_matches(word[:64].lower(), lowered, n=1, cutoff=cutoff)
    return lowered[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Suggest the known word that is nearest to a misspelt one, as a help text; None if none is near.

    Parameters
    ----------
    word : str
        What was written.
    known : iterable of str
        What could have been meant.
    cutoff : float
        How near it must be, as in `nearest_word`.

    Returns
    -------
    str or None
        The suggestion.

    Examples
    --------
    >>> did_you_mean("blok", ["block", "cyclic"])
    'did you mean `block`?'
    """
    found = nearest_word(word, known, cutoff=cutoff)
    return f"did you mean `{found}`?" if found else None


def free_name(name: str, taken: Collection[str]) -> str:
    """Give a name if it is free, else one with the first number that makes it so.

    Parameters
    ----------
    name : str
        The name.
    taken : collection of str
        Names that something else has.

    Returns
    -------
    str
        The free name.

    Examples
    --------
    >>> free_name("u", {"u", "u2"})
    'u3'
    """
    names = (name, *(f"{name}{number}" for number in range(2, len(taken) + 3)))
    return next(free for free in names if free not in taken)


def source_line(place: str) -> str:
    """Give file and line of a place, without folders and column.

    Parameters
    ----------
    place : str
        As `split_place` takes it.

    Returns
    -------
    str
        Empty where the place has no line.

    Examples
    --------
    >>> source_line("/home/me/heat.py:14:1"), source_line("heat.py")
    ('heat.py:14', '')
    """
    line = program_line(place)
    return f"{split_place(place)[0].rpartition('/')[2]}:{line}" if line else ""


def call_path_text(names: Sequence[str]) -> str:
    """Write a call path; what calls itself, or each other in turns of up to four, is written once.

    Long names are shortened.

    Parameters
    ----------
    names : sequence of str
        What called each other, the outermost first.

    Returns
    -------
    str
        The path; from three levels of a recursion on, their number.

    Examples
    --------
    >>> call_path_text(["main", "sort", "sort", "sort", "MPI_Recv"])
    'main / sort × 3 / MPI_Recv'
    >>> call_path_text(["even", "odd"] * 5)
    '(even / odd) × 5'
    """
    names = [short_text(name) for name in names]
    parts, place = [], 0
    while place < len(names):
        period, times = max(((p, _turns(names, place, p)) for p in range(1, 5)), key=lambda found: found[1])
        if times < _COUNTED_FROM:
            period = times = 1
        turn = " / ".join(names[place : place + period])
        turn = f"({turn})" if period > 1 else turn
        parts.append(f"{turn} × {times}" if times > 1 else turn)
        place += period * times
    return " / ".join(parts)


_COUNTED_FROM = 3


def _turns(names: Sequence[str], place: int, period: int) -> int:
    """How often so many names come from a place on, one time after the other."""
    end = place + period
    while end < len(names) and names[end] == names[end - period]:
        end += 1
    return (end - place) // period


def value_text(value: object) -> str:
    """Write a value of a parameter as programs and the command line have it.

    Parameters
    ----------
    value : object
        A number, a truth value or a text.

    Returns
    -------
    str
        The text, without quotation marks.

    Examples
    --------
    >>> value_text(True), value_text(2.5), value_text("fast")
    ('true', '2.5', 'fast')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
