"""What reports say, as tables of text: model, run times, dispersion, applications at once, differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pse.emulate.model._loggp import LogGPParameter, loggp_parameters
from pse.emulate.model._model import Model, Segment
from pse.emulate.results._results import Results
from pse.emulate.statistics._bootstrap import Interval
from pse.emulate.statistics._comparison import Comparison
from pse.emulate.statistics._prediction import Loaded, RunTime, loaded_ratios, run_times
from pse.emulate.statistics._summary import Summary, summaries
from pse.text import change_text, count_text, number_text, share_text, size_text, time_text

MISSING = "–"
_RUN_TIME_HEADINGS = (
    *("application", "ranks", "size", "load", "achieved", "typical", "predicted"),
    *("measured", "error", "95 % interval", "barriers"),
)
_DISPERSION_HEADINGS = (
    *("size", "load", "time", "mean", "95 % interval", "σ", "σ², s²"),
    *("median", "95 % interval", "99 %", "lag-1", "outliers"),
)


_PARAMETERS = {
    "o_s": "overhead of sending",
    "o_r": "overhead of receiving",
    "L": "latency",
    "g": "gap between messages",
    "G": "gap per byte",
}
_NO_LATENCY = (
    "L is not above 0: o_s and o_r, each measured by itself, take as long as half of a round trip, where they"
    " overlap. In a model, take 0."
)


@dataclass(frozen=True)
class TextTable:
    """A table: a title, headings, rows of cells, and a note below; the first `names` columns are names."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    note: str = ""


def model_tables(model: Model) -> Iterator[TextTable]:
    """Give the segments of a model, what was measured, and ranks and pairs that differ."""
    yield TextTable(
        f"cost of a message ({model.mode})",
        ("sizes", "startup time", "95 % interval", "time per byte", "95 % interval", "rate"),
        tuple(_segment_row(model, place) for place in range(len(model.segments))),
    )
    if model.table:
        rows = (
            (
                size_text(one.size, zeros=False),
                _time(one.seconds),
                _span(one.interval, _time),
                _percent(one.residual),
            )
            for one in model.table
        )
        headings = ("size", "measured", "95 % interval", "line's error")
        yield TextTable("measured sizes", headings, tuple(rows))
    for title, lines in (("ranks", model.ranks), ("pairs", model.pairs)):
        rows_of = (
            (
                f"{one.rank}" if one.partner is None else f"{one.rank} → {one.partner}",
                _time(one.alpha),
                _rate(one.beta),
                f"{one.factor:.3f}",
            )
            for one in lines
        )
        if lines:
            yield TextTable(title, (title[:-1], "startup time", "rate", "time over all"), tuple(rows_of))
    if model.loggp:
        yield loggp_table(model.loggp)


def loggp_table(found: Sequence[LogGPParameter]) -> TextTable:
    """Give the parameters of LogGP, with their spread over ranks and how each is measured."""
    rows = []
    for one in found:
        text = _time if one.unit == "s" else _per_byte
        ends = (text(one.least), text(one.greatest))
        rows.append(
            (
                one.symbol,
                _PARAMETERS[one.symbol],
                one.source,
                text(one.value),
                _span(one.interval, text),
                *ends,
            )
        )
    ranks, launches = count_text(found[0].ranks, "rank"), count_text(found[0].launches, "launch", "launches")
    headings = ("symbol", "parameter", "measured as", "value", "95 % interval", "least rank", "greatest rank")
    hidden = any(one.symbol == "L" and one.value <= 0 for one in found)
    return TextTable(
        f"LogGP: medians of {ranks} and {launches}", headings, tuple(rows), 3, _NO_LATENCY * hidden
    )


def _segment_row(model: Model, place: int) -> tuple[str, ...]:
    one: Segment = model.segments[place]
    begin = size_text(one.begin, zeros=False)
    if place + 1 < len(model.segments):
        sizes = f"{begin} to {size_text(model.switches[place][0], zeros=False)}"
    else:
        sizes = f"from {begin}"
    alpha, beta = _span(one.alpha_interval, _time), _span(one.beta_interval, _per_byte)
    return sizes, _time(one.alpha), alpha, _per_byte(one.beta), beta, _rate(one.beta)


def result_tables(results: Results, by: str = "application") -> Iterator[TextTable]:
    """Give run times as predicted and measured, dispersion, and applications beside others."""
    if not len(results.cycles):
        return
    times = run_times(results)
    yield _with_beside(
        TextTable("run time, without barriers", _RUN_TIME_HEADINGS, tuple(map(_run_time_row, times))), times
    )
    found = summaries(results, by, ("communication", "barrier", "compute"))
    rank = ("rank",) if by == "rank" else ()
    headings = (by if by == "pattern" else "application", *rank, *_DISPERSION_HEADINGS)
    yield _with_beside(TextTable("dispersion", headings, tuple(map(_summary_row, found))), found)
    if loggp := loggp_parameters(results):
        yield loggp_table(loggp)
    if any(one.get("alone") for one in results.metadata.get("applications", ())):
        yield loaded_table(loaded_ratios(results))


def _with_beside(table: TextTable, found: Sequence[RunTime | Summary | Loaded]) -> TextTable:
    """Add a column behind the names for what else ran, where that was now this, now that."""
    if not any(one.beside for one in found):
        return table
    rows = tuple(
        (row[0], one.beside or MISSING, *row[1:]) for row, one in zip(table.rows, found, strict=True)
    )
    headings = (table.headings[0], "beside", *table.headings[1:])
    return replace(table, headings=headings, rows=rows, names=2)


def loaded_table(ratios: Iterable[Loaded]) -> TextTable:
    """Give how much longer communication takes beside other applications than alone."""
    found = list(ratios)
    rows = (
        (
            one.name,
            size_text(one.size, zeros=False),
            f"{one.load:g} %",
            f"{one.mean:.3f}",
            _span(one.mean_interval, lambda value: f"{value:.3f}"),
            f"{one.tail:.3f}",
            _span(one.tail_interval, lambda value: f"{value:.3f}"),
        )
        for one in found
    )
    headings = ("application", "size", "load", "mean", "95 % interval", "99th percentile", "95 % interval")
    title = "communication beside other applications over alone"
    return _with_beside(TextTable(title, headings, tuple(rows)), found)


def comparison_table(found: Comparison, top: int) -> TextTable:
    """Give what was compared, what is real first."""
    rows = (
        (
            one.where,
            one.quantity,
            "real" if one.real else "not shown",
            _percent(one.ratio - 1),
            _span(one.interval, lambda ratio: _percent(ratio - 1)),
            f"{one.p:.2g}",
            f"{one.adjusted:.2g}",
        )
        for one in found.differences[:top]
    )
    headings = ("where", "quantity", "difference", "effect", "95 % interval", "p", "corrected p")
    return TextTable("what was compared", headings, tuple(rows), names=3)


def _run_time_row(one: RunTime) -> tuple[str, ...]:
    return (
        one.name,
        str(one.ranks),
        size_text(one.size, zeros=False),
        f"{one.load:g} %",
        share_text(one.achieved / 100, 1),
        share_text(one.typical / 100, 1),
        _time(one.predicted),
        _time(one.measured),
        _percent(one.error),
        _span(one.error_interval, _percent),
        _time(one.barrier),
    )


def _summary_row(one: Summary) -> tuple[str, ...]:
    rank = () if one.rank is None else (str(one.rank),)
    lag = one.autocorrelation[0]
    return (
        one.name,
        *rank,
        size_text(one.size, zeros=False),
        f"{one.load:g} %",
        one.metric,
        _time(one.mean),
        _span(one.mean_interval, _time),
        _time(one.sigma),
        MISSING if one.variance != one.variance else f"{one.variance:.3g}",
        _time(one.median),
        _span(one.median_interval, _time),
        _time(one.quantiles[0.99]),
        MISSING if lag != lag else f"{lag:.2f}",
        share_text(one.outliers, 1),
    )


def _span(interval: Interval, text: Callable[[float], str]) -> str:
    return MISSING if interval is None else f"{text(interval[0])} to {text(interval[1])}"


def _time(seconds: float) -> str:
    if seconds != seconds:
        return MISSING
    return f"{number_text(1e9 * seconds)} ns" if 0 < seconds < 1e-6 else time_text(1e9 * seconds)


def _per_byte(seconds: float) -> str:
    return f"{1e9 * seconds:.4g} ns"


def _rate(beta: float) -> str:
    return MISSING if beta <= 0 else f"{size_text(1 / beta)}/s"


def _percent(part: float) -> str:
    return MISSING if part != part else change_text(part)
