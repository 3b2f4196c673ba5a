"""Reading a configuration from a TOML file."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pse.emulate.configuration import _values as values
from pse.emulate.configuration._checks import find_problems, rank_problem
from pse.emulate.configuration._configuration import (
    EXCHANGE_SIZES,
    PLACEMENTS,
    PREDICTIONS,
    RECORDED,
    WAITS,
    Application,
    Configuration,
    ConfigurationError,
    alone_name,
)
from pse.emulate.configuration._placement import Nodes
from pse.emulate.configuration._toml_lines import key_lines, toml_mistake
from pse.emulate.configuration._values import Source, Table
from pse.emulate.model._model import Model, ModelError
from pse.emulate.patterns._cycle import PatternError
from pse.emulate.patterns._grids import dimensions_problem, grid_problem
from pse.emulate.patterns._lookup import find_pattern, load_patterns
from pse.emulate.patterns._registry import Pattern
from pse.emulate.recorded._program import RecordedProgram, load_program
from pse.text import count_text, did_you_mean, list_text

RUN, EXCHANGES, APPLICATIONS = "run", "exchanges", "applications"
_LEAST = '[[applications]], and below it pattern = "pairwise"'
_SIZE = "a size below 2 GiB, such as 1024 or '4 KiB'"
_DIMENSIONS = "write for example:  dimensions = [2, 2]"
_SECONDS = "seconds from 0 to 86400"
_RUN_KEYS = {
    *("ranks", "launches", "most_launches", "time", "precision", "seed", "waits", "isolated"),
    *("prediction", "patterns"),
}
_EXCHANGE_KEYS = {"sizes", "repetitions", "matrix", "loggp", "alpha", "beta"}
_APPLICATION_KEYS = {one.name for one in fields(Application)} - {"options"}


def read_configuration(
    path: str | os.PathLike[str],
    ranks: int | None = None,
    *,
    per_node: Callable[[int], int] | None = None,
    nodes: Callable[[int], Nodes | None] | None = None,
    say: Callable[[str], object] = lambda text: None,
) -> Configuration:
    """Read a configuration and check it.

    Parameters
    ----------
    path : path
        A TOML file.
    ranks : int, optional
        How many ranks the job has; by default what the file says, or what its applications need.
    per_node : callable, optional
        Says of a number of ranks how many the fullest node gets; by default all are on this one.
    nodes : callable, optional
        Says of a number of ranks on which nodes they are; called if an application names nodes, which aren't
        compared with anything by default.
    say : callable, optional
        Is told what is measured otherwise than the file says, or on fewer ranks than the job has.

    Returns
    -------
    Configuration
        What is to be measured.

    Raises
    ------
    ConfigurationError
        The file can't be read, or something in it is wrong; the message has its line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ace.toml"
    >>> _ = file.write_text('[[applications]]\\npattern = "pairwise"\\nsizes = "1 KiB"\\nloads = [20, 40]\\n')
    >>> [len(setting.parts) for setting in read_configuration(file, ranks=4).settings()]
    [1, 1]
    """
    source, content = _read_file(Path(path))
    tables = {name: _table(source, content, name) for name in (RUN, EXCHANGES)}
    run, exchanges = tables.values()
    run.check_keys(_RUN_KEYS)
    exchanges.check_keys(_EXCHANGE_KEYS)
    listed = _applications_of(source, content)
    files = _pattern_files(run, Path(path))
    told = run.take("ranks", values.count, "an integer from 1", None)
    wanted = told if ranks is None else ranks
    counts = _ranks_of(listed, wanted, Path(path))
    total = sum(counts) if wanted is None else wanted
    fullest = per_node(total) if per_node else None
    if (crowded := rank_problem(total, fullest)) is not None:
        whose = listed[counts.index(max(counts))] if wanted is None else run
        whose.fail(_ranks_key(whose), crowded, "start fewer ranks on a node, or more nodes")
    applications = tuple(
        _application(table, number, count, Path(path))
        for number, (table, count) in enumerate(zip(listed, counts, strict=True))
    )
    _check_names(applications, listed)
    if all(one.background for one in applications):
        listed[0].fail(
            "background",
            "all applications are in the background: none would ever end",
            "leave `background` out of one",
        )
    found = Configuration(
        applications,
        total,
        **_run_values(run),
        **_exchange_values(exchanges, run),
        pattern_files=files,
        source=os.fspath(path),
    )
    there = nodes(total) if nodes is not None and any(one.nodes for one in applications) else None
    for problem in find_problems(found, fullest, there):
        table = exchanges if problem.application is None else listed[problem.application]
        table.fail(problem.key, problem.message, problem.help)
    if told not in (None, total):
        say(f"{run.place('ranks')}: ranks = {told} doesn't count: the job has {count_text(total, 'rank')}")
    if sum(counts) < total:
        rest = "only exchanges messages" if found.exchange_sizes else "does nothing"
        say(f"{path}: the applications have {sum(counts)} of the job's {total} ranks: the rest {rest}")
    return found


def _read_file(path: Path) -> tuple[Source, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        message = f"cannot read the configuration {path}: {error.strerror or error}"
        near = did_you_mean(path.name, (file.name for file in path.parent.glob("*.toml")))
        help = near or f"give a TOML file that has at least {_LEAST}"
        raise ConfigurationError(message, help=help) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}:{line}: the text is not UTF-8", help="save it as UTF-8") from None
    except ValueError:
        message = f"the configuration {path} is not a text file"
        raise ConfigurationError(message, help="save it as UTF-8") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, mistake, mend = toml_mistake(error, text)
        raise ConfigurationError(f"{path}:{line}: {mistake}", help=mend) from None
    source = Source(str(path), key_lines(text))
    Table(source, ("", 0), content).check_keys({RUN, EXCHANGES, APPLICATIONS})
    return source, content


def _table(source: Source, content: Mapping[str, Any], name: str) -> Table:
    value = content.get(name, {})
    if not isinstance(value, dict):
        source.fail(("", 0), name, f"{name} must be a table", f"write [{name}] and its keys below")
    return Table(source, (name, 0), value)


def _applications_of(source: Source, content: Mapping[str, Any]) -> list[Table]:
    listed = content.get(APPLICATIONS)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed) or not listed:
        source.fail((APPLICATIONS, 0), "", "there are no applications", f"write at least one: {_LEAST}")
    return [Table(source, (APPLICATIONS, number), one) for number, one in enumerate(listed)]


def _pattern_files(run: Table, path: Path) -> tuple[str, ...]:
    """Load the user's patterns; their paths count from the configuration's directory."""
    names = run.many("patterns", values.text, "the path of a Python file", ())
    files = tuple(str((path.parent / name).absolute()) for name in names)
    for file in files:
        try:
            load_patterns(file)
        except PatternError as error:
            run.fail("patterns", error.message, error.help)
    return files


def _ranks_of(listed: list[Table], total: int | None, path: Path) -> list[int]:
    """Give each application's number of ranks; those that any number suits share what is left."""
    given = [_own_ranks(one, path) for one in listed]
    silent = [number for number, count in enumerate(given) if count is None]
    if total is None and silent:
        listed[silent[0]].fail("", "the application has no ranks, and neither has the job", "say -n N")
    left = (total or 0) - sum(filter(None, given))
    if total is not None and (left < 0 or (silent and left < len(silent))):
        first = next((number for number, count in enumerate(given) if count is not None), 0)
        need = count_text(sum(filter(None, given)) + len(silent), "rank")
        listed[first].fail(
            _ranks_key(listed[first]),
            f"the applications need at least {need}, and the job has {total}",
            "start more ranks with -n N, or give the applications fewer",
        )
    shares = (
        [left // len(silent) + (number < left % len(silent)) for number in range(len(silent))]
        if silent
        else []
    )
    rest = iter(shares)
    return [next(rest) if count is None else count for count in given]


def _ranks_key(table: Table) -> str:
    """Name the key from which an application's number of ranks comes."""
    return next((key for key in ("ranks", "dimensions", "program") if table.has(key)), "")


def _own_ranks(table: Table, path: Path) -> int | None:
    """Give the number of ranks that an application says, or else needs; None if any number suits it."""
    said: int | None = table.take("ranks", values.count, "an integer from 1", None)
    if said is not None:
        return said
    if table.has("program"):
        return _program(table, path).ranks
    if _pattern(table).check is not grid_problem or not table.has("dimensions"):
        return None
    dimensions: list[int] = table.raw("dimensions")
    if (problem := dimensions_problem(dimensions)) is not None:
        table.fail("dimensions", problem, _DIMENSIONS)
    return math.prod(dimensions)


def _application(table: Table, number: int, ranks: int, path: Path) -> Application:
    if table.has("program"):
        return _recorded(table, number, ranks, path)
    pattern = _pattern(table)
    if shared := _APPLICATION_KEYS & {*pattern.options}:
        names = list_text(sorted(shared))
        table.fail(
            "pattern",
            f"options of the pattern {pattern.name} are keys of all applications: {names}",
            "rename them in the pattern",
        )
    table.check_keys(_APPLICATION_KEYS | {*pattern.options})
    options = {
        key: table.take(key, values.plain, "a value without dates and times", None)
        for key in pattern.options
        if table.has(key)
    }
    try:
        problem = pattern.problem(ranks, options)
    except PatternError as error:
        table.fail("pattern", error.message, error.help)
    if problem is not None:
        culprit = next((key for key in options if problem.startswith(f"{key} =")), "ranks")
        help = f"change {culprit}, or name another pattern"
        table.fail(culprit if table.has(culprit) else "pattern", problem, help)
    return Application(
        pattern=pattern.name,
        ranks=ranks,
        sizes=table.many("sizes", values.size, _SIZE, (1024,)),
        loads=table.many("loads", values.load, "a percentage from 1 to 100", (50.0,)),
        blocking=table.take("blocking", values.switch, "true or false", True),
        options=options,
        **_common_values(table, f"{pattern.name}-{number}", 1000),
    )


def _common_values(table: Table, name: str, cycles: int) -> dict[str, Any]:
    """Read what all applications may say."""
    return {
        "name": table.take("name", values.name, "a text on one line", name),
        "cycles": table.take("cycles", values.count, "an integer from 1", cycles),
        "synchronous": table.take("synchronous", values.switch, "true or false", True),
        "background": table.take("background", values.switch, "true or false", False),
        "start": table.take("start", values.seconds, _SECONDS, 0.0),
        "placement": table.take(
            "placement", values.one_of(PLACEMENTS), list_text(PLACEMENTS, "or"), "packed"
        ),
        "nodes": table.many("nodes", values.node, "the number or name of a node", ()),
    }


def _recorded(table: Table, number: int, ranks: int, path: Path) -> Application:
    """Read an application that replays a recorded program: its messages and loads are those of the trace."""
    table.check_keys(_APPLICATION_KEYS - {"pattern", "sizes", "loads", "blocking"})
    program = _program(table, path)
    if program.ranks != ranks:
        recorded = count_text(program.ranks, "rank")
        message = f"the program was recorded on {recorded}, and the application has {ranks}"
        table.fail("ranks", message, f"leave `ranks` out, and start at least {recorded}")
    return Application(
        pattern=RECORDED,
        ranks=ranks,
        sizes=(0,),
        loads=(100.0,),
        program=_program_file(table, path),
        **_common_values(table, f"{Path(table.raw('program')).stem}-{number}", 10),
    )


def _program(table: Table, path: Path) -> RecordedProgram:
    try:
        return load_program(_program_file(table, path))
    except PatternError as error:
        table.fail("program", error.message, error.help)


def _program_file(table: Table, path: Path) -> str:
    name = table.take("program", values.text, "the path of a program that `pse ace from-trace` wrote", None)
    return str((path.parent / name).absolute())


def _pattern(table: Table) -> Pattern:
    name = table.take("pattern", values.text, "the name of a pattern", None)
    if name is None:
        table.fail("", "the application has no pattern", 'for example pattern = "pairwise"')
    try:
        return find_pattern(name)
    except PatternError as error:
        table.fail("pattern", error.message, error.help)


def _check_names(applications: tuple[Application, ...], listed: list[Table]) -> None:
    seen: set[str] = set()
    alone = {alone_name(one.name): one.name for one in applications}
    for one, table in zip(applications, listed, strict=True):
        if one.name in seen:
            table.fail("name", f"there are two applications with the name {one.name}", "rename one of them")
        if one.name in alone:
            table.fail(
                "name",
                f"results have the name {one.name} for {alone[one.name]} when it runs alone",
                "choose another name",
            )
        seen.add(one.name)


def _run_values(run: Table) -> dict[str, Any]:
    launches = run.take("launches", values.count, "an integer from 1", 10)
    most = run.take("most_launches", values.count, "an integer from 1", max(100, launches))
    if most < launches:
        run.fail(
            "most_launches",
            f"most_launches = {most} is less than launches = {launches}",
            "give as many at least",
        )
    return {
        "launches": launches,
        "most_launches": most,
        "time": run.take("time", values.positive, "seconds above 0", 300.0),
        "precision": run.take("precision", values.positive, "a percentage above 0", 2.0),
        "seed": run.take("seed", values.whole, "an integer from 0", 1),
        "waits": run.take("waits", values.one_of(WAITS), list_text(WAITS, "or"), "auto"),
        "isolated": run.take("isolated", values.switch, "true or false", True),
        "prediction": run.take(
            "prediction", values.one_of(PREDICTIONS), list_text(PREDICTIONS, "or"), "load"
        ),
    }


def _check_given(exchanges: Table, alpha: float, beta: float) -> None:
    """Refuse parameters that are no model, and keys that ask for exchanges where there are none."""
    try:
        Model(alpha, beta)
    except ModelError as error:
        exchanges.fail("alpha", error.message, error.help)
    for key in ("matrix", "loggp"):
        if exchanges.has(key) and exchanges.raw(key) and not exchanges.has("sizes"):
            message = f"{key} = true measures exchanges, but alpha and beta are given instead of them"
            exchanges.fail(key, message, "leave out alpha and beta, or say which sizes are measured")


def _exchange_values(exchanges: Table, run: Table) -> dict[str, Any]:
    given = {key: exchanges.take(key, values.seconds, _SECONDS, None) for key in ("alpha", "beta")}
    missing = [key for key, value in given.items() if value is None]
    if len(missing) == 1:
        other = next(key for key in given if key not in missing)
        exchanges.fail(
            other,
            f"{other} is given, but {missing[0]} isn't: the model needs both",
            f"give {missing[0]}, too, in seconds",
        )
    if not missing:
        _check_given(exchanges, *given.values())
        if run.has("prediction"):
            run.fail(
                "prediction",
                "alpha and beta are given, so they predict, and nothing else does",
                "leave `prediction` out",
            )
    return {
        "exchange_sizes": exchanges.many("sizes", values.size, _SIZE, EXCHANGE_SIZES if missing else ()),
        "repetitions": exchanges.take("repetitions", values.count, "an integer from 1", 100),
        "matrix": exchanges.take("matrix", values.switch, "true or false", False),
        "loggp": exchanges.take("loggp", values.switch, "true or false", False),
        **given,
    }
