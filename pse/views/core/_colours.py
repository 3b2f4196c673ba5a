"""Colours that mean the same in every picture: modules, waits, routines of MPI.

Modules take the palette of Okabe and Ito in the order in which the program first calls them, whatever a
selection leaves of them.  Past its end come darker, then lighter shades, then the same ones with dots.  Waits
are pale, so that they step back behind work; routines of MPI stand out on a module.

References
----------
.. [1] P. Tol, "Colour schemes", SRON/EPS/TN/09-002, 2021 (routines of MPI).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pse._abi.waiting import RANK_TEXTS, RankState
from pse.trace import Trace, WaitReason
from pse.views.core._palette import GREY, PALETTE, darker

OTHER = GREY
"""What was not selected, or has no name."""
ENGINE = "#FFFFFF"
"""Neither in a module nor waiting."""
UNKNOWN_SITES = 64
"""Call sites that have colours where a trace has no definitions."""

_WAITS = {
    WaitReason.INPUT: "#DADDE2",
    WaitReason.EXCLUSIVE: "#F6D5D5",
    WaitReason.SPACE: "#F3DDB8",
    WaitReason.CREDIT: "#F5EFB5",
    WaitReason.REMOTE: "#CFE3F5",
    WaitReason.ORDER: "#D3EBD3",
    WaitReason.ITERATION: "#E3D7F0",
    WaitReason.PARTITIONS: "#CDEBEA",
    WaitReason.START: "#EFEFEF",
}

FAMILIES = {
    "send": "#332288",
    "receive": "#117733",
    "wait or test": "#F0C090",
    "collective": "#882255",
    "file or window": "#9018F0",
    "other": "#A0A0A0",
}
"""Families of MPI's routines; people with any kind of colour-blindness tell them apart.

None is near the colour of one of the first modules, beside which they stand.
"""
MAIN = "#CBD0D8"
"""`main`, in which all others are: the palest."""
_FAMILY = (
    ("send", r"I?[BSR]?send(_init)?|P(send|ready)\w*|I?sendrecv\w*"),
    ("receive", r"I?M?recv(_init)?|Precv\w*|I?M?probe|Parrived"),
    ("wait or test", r"(Wait|Test)\w*|Start(all)?|Cancel|Request_\w+"),
    (
        "collective",
        r"I?(neighbor_)?(barrier|bcast|gather|scatter|allgather|alltoall|allreduce|reduce|reduce_scatter"
        r"(_block)?|scan|exscan)[vw]?(_init)?",
    ),
    ("file or window", r"(File|Win)_\w+|R?(put|get|(get_)?accumulate)|Fetch_and_op|Compare_and_swap"),
)


@dataclass(frozen=True)
class Style:
    """How something is filled.

    Parameters
    ----------
    colour : str
        ``#RRGGBB``.
    hatch : str
        Of matplotlib; "" is none.

    See Also
    --------
    module_styles
    """

    colour: str
    hatch: str = ""


def module_colours(trace: Trace) -> dict[str, str]:
    """Give each module its colour, by name; the same in every view.

    Without definitions, call sites stand for modules: ``site 3``.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.

    Returns
    -------
    dict of str to str
        ``#RRGGBB`` by the module's name.

    Examples
    --------
    >>> module_colours(trace)
    {'load': '#E69F00', 'rows': '#56B4E9', 'total': '#009E73'}
    """
    return {name: style.colour for name, style in module_styles(trace).items()}


def module_styles(trace: Trace) -> dict[str, Style]:
    """Give each module its colour and, past 21 modules, its hatch, by name.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.

    Returns
    -------
    dict of str to Style
        Colour and hatch by the module's name.

    Examples
    --------
    >>> module_styles(trace)["rows"]
    Style(colour='#56B4E9', hatch='')
    """
    return _styles(module_names(trace))


def module_names(trace: Trace) -> list[str]:
    """Name all modules in the order of their first call site."""
    if trace.definitions is None:
        return [f"site {number}" for number in range(UNKNOWN_SITES)]
    sites = sorted(trace.definitions.sites, key=lambda site: site.id)
    return list(dict.fromkeys(site.module for site in sites))


def routine_colours(names: Iterable[str]) -> dict[str, str]:
    """Give each routine its colour: MPI's by their family, others as modules.

    Parameters
    ----------
    names : iterable of str
        Routines, of MPI or others.

    Returns
    -------
    dict of str to str
        ``#RRGGBB`` by the routine's name.

    Examples
    --------
    >>> colours = routine_colours(["MPI_Send", "MPI_Recv", "solve"])
    >>> colours["MPI_Send"], colours["MPI_Recv"]
    ('#332288', '#117733')
    """
    return {name: style.colour for name, style in routine_styles(names).items()}


def routine_styles(names: Iterable[str]) -> dict[str, Style]:
    """Give each routine its colour and hatch: MPI's by their family, others as modules."""
    names = list(names)
    own = _styles([name for name in names if not name.startswith("MPI_") and not _is_main(name)])
    own |= {name: Style(MAIN) for name in names if _is_main(name)}
    mpi = {name: Style(FAMILIES[routine_family(name)]) for name in names if name.startswith("MPI_")}
    return {name: mpi[name] if name in mpi else own[name] for name in names}


def _is_main(name: str) -> bool:
    """Whether a routine is the whole program: ``main``, ``int main(int, char **)``, ``script.py``."""
    return re.fullmatch(r"(\w+ +)?main_*( *\(.*\))?|[^/\s]+\.py", name) is not None


def routine_family(name: str) -> str:
    """Name the family of a routine of MPI.

    Examples
    --------
    >>> routine_family("MPI_Isend"), routine_family("MPI_Allreduce_c"), routine_family("MPI_Init_thread")
    ('send', 'collective', 'other')
    """
    plain = name.removeprefix("MPI_").removesuffix("_c")
    found = (family for family, pattern in _FAMILY if re.fullmatch(pattern, plain, re.IGNORECASE))
    return next(found, "other")


def wait_text(reason: str) -> str:
    """Name a wait as live views do, from the name of its reason: ``waiting for input``."""
    known = WaitReason.__members__.get(reason.upper())
    return RANK_TEXTS[RankState.RUNNING + known] if known else f"waiting, {reason}"


def wait_colours() -> dict[str, str]:
    """Give each reason of waits its colour, by its name in lower case.

    Returns
    -------
    dict of str to str
        ``#RRGGBB`` by the reason's name.

    Examples
    --------
    >>> wait_colours()["input"]
    '#DADDE2'
    """
    return {reason.name.lower(): colour for reason, colour in _WAITS.items()}


def lighter(shade: str, share: float = 0.5) -> str:
    """Mix a colour with white.

    Examples
    --------
    >>> lighter("#0000FF")
    '#7F7FFF'
    """
    parts = (int(shade[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{int(part + (255 - part) * share):02X}" for part in parts)


def _styles(names: list[str]) -> dict[str, Style]:
    return dict(zip(names, _endless(), strict=False))


def _endless() -> Iterator[Style]:
    shades = [
        *PALETTE,
        *(darker(shade, 0.55) for shade in PALETTE),
        *(lighter(shade, 0.55) for shade in PALETTE),
    ]
    yield from map(Style, shades)
    while True:
        for hatch in ("..", "oo", "**"):
            yield from (Style(shade, hatch) for shade in shades)
