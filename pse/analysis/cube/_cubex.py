"""Export of a cube to ``.cubex``, the format of Cube 4: its graphical browser and its tools read it.

It is a tar of ``anchor.xml``, which defines metrics, call paths and locations, and for each metric
``N.index`` (which call paths have values, by their place in the tree, parents before children) and ``N.data``
(their values, float64, by location).  Times are in seconds.
"""

from __future__ import annotations

import io
import os
import struct
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from pse.analysis.cube._cube import CallPath, Cube
from pse.analysis.cube._metrics import GRID_STATES, METRICS, Metric
from pse.files import draft_file, explained, require_directory

_UNITS = {"ns": ("sec", 1e-9), "bytes": ("bytes", 1.0), "": ("occ", 1.0)}
_ROLES = {"routine": "function", "module": "function", "loop": "loop", "program": "artificial"}


def export_cubex(cube: Cube, path: str | os.PathLike[str]) -> None:
    """Write a cube for the browser and the tools of Cube 4.

    Parameters
    ----------
    cube : Cube
        The cube.
    path : path
        The file; what was there is replaced.

    Raises
    ------
    UsageError
        Its directory does not exist, or the system refuses; what was there before stays.

    Examples
    --------
    >>> pse.analysis.export_cubex(cube, "mpi1.cubex")
    """
    require_directory(path)
    order = _parents_first(cube)
    with (
        explained(path),
        draft_file(path) as draft,
        tarfile.open(draft, "w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        _add(tar, "anchor.xml", _anchor(cube, order))
        for number, metric in enumerate(_shown(cube)):
            values = cube.exclusive(metric.name)[order] * _UNITS[metric.unit][1]
            rows = np.flatnonzero(values.any(axis=1)).astype("<i4")
            if len(rows):
                index = struct.pack("<ihbi", 1, 0, 1, len(rows)) + rows.tobytes()
                _add(tar, f"{number}.index", b"CUBEX.INDEX" + index)
                _add(tar, f"{number}.data", b"CUBEX.DATA" + values[rows].astype("<f8").tobytes())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def _parents_first(cube: Cube) -> list[int]:
    """Call paths in the order of the tree: each is followed by all that were called from it."""
    children: dict[int, list[int]] = {}
    for number, path in enumerate(cube.call_paths):
        children.setdefault(path.parent, []).append(number)
    order, left = [], children.get(-1, [])[::-1]
    while left:
        order.append(left.pop())
        left += children.get(order[-1], [])[::-1]
    return order


def _anchor(cube: Cube, order: list[int]) -> bytes:
    root = ET.Element("cube", version="4.4")
    ET.SubElement(root, "attr", key="Creator", value="pse")
    ET.SubElement(root, "attr", key="pse title", value=_printable(cube.title))
    ET.SubElement(ET.SubElement(root, "doc"), "mirrors")
    _add_metrics(ET.SubElement(root, "metrics", title="Metric tree"), _shown(cube))
    _add_program(ET.SubElement(root, "program", title="Call tree"), cube, order)
    _add_system(ET.SubElement(root, "system", title="System tree"), cube)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{''.join(_written(root))}".encode()


def _written(root: ET.Element) -> Iterator[str]:
    """Write XML without recursion, which ElementTree uses: call paths may have thousands of levels."""
    left: list[ET.Element | str] = [root]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
            continue
        attributes = "".join(f" {name}={quoteattr(text)}" for name, text in item.items())
        yield f"<{item.tag}{attributes}>{escape(item.text or '')}"
        left += [f"</{item.tag}>", *reversed(item)]


def _texts(element: ET.Element, **texts: str) -> ET.Element:
    for name, text in texts.items():
        ET.SubElement(element, name).text = _printable(text)
    return element


def _printable(text: str) -> str:
    """Replace what XML can't hold."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _shown(cube: Cube) -> list[Metric]:
    """The metrics that the file has: those of several metahosts only if there are several."""
    several = len({location.machine for location in cube.locations}) > 1
    return [metric for metric in METRICS if several or metric.name not in GRID_STATES]


def _add_metrics(above: ET.Element, shown: list[Metric]) -> None:
    made = {"": above}
    for number, metric in enumerate(shown):
        element = ET.SubElement(made[metric.parent], "metric", id=str(number), type="EXCLUSIVE")
        made[metric.name] = _described(element, metric)


def _described(element: ET.Element, metric: Metric) -> ET.Element:
    names = {"disp_name": metric.title, "uniq_name": metric.name, "dtype": "FLOAT"}
    return _texts(element, **names, uom=_UNITS[metric.unit][0], val="", url="", descr=metric.meaning)


def _add_program(program: ET.Element, cube: Cube, order: list[int]) -> None:
    regions: dict[tuple[str, str, str], int] = {}
    for path in cube.call_paths:
        key = (path.kind, path.name, path.place)
        if key not in regions:
            regions[key] = len(regions)
            _add_region(program, regions[key], path)
    made = {-1: program}
    for number, index in enumerate(order):
        path = cube.call_paths[index]
        callee = str(regions[path.kind, path.name, path.place])
        made[index] = ET.SubElement(made[path.parent], "cnode", id=str(number), calleeId=callee)


def _add_region(program: ET.Element, number: int, path: CallPath) -> None:
    file, _, rest = path.place.partition(":")
    line = rest.partition(":")[0] if rest.partition(":")[0].isdigit() else "-1"
    region = ET.SubElement(program, "region", id=str(number), mod=_printable(file), begin=line, end="-1")
    paradigm = "mpi" if path.name.startswith("MPI_") else "user"
    role = _ROLES.get(path.kind, "wrapper")
    _texts(region, name=path.name, mangled_name=path.name, paradigm=paradigm, role=role, url="", descr="")


def _add_system(system: ET.Element, cube: Cube) -> None:
    """Machines, nodes, processes and threads below one root, which readers expect."""
    root = ET.SubElement(system, "systemtreenode", Id="0")
    made: dict[tuple[object, ...], ET.Element] = {(): _texts(root, name="run", **{"class": "grid"})}
    processes: dict[int, ET.Element] = {}
    for number, location in enumerate(cube.locations):
        for key, name, kind in (
            ((location.machine,), location.machine, "machine"),
            ((location.machine, location.node), location.node, "node"),
        ):
            if key not in made:
                element = ET.SubElement(made[key[:-1]], "systemtreenode", Id=str(len(made)))
                made[key] = _texts(element, name=name, **{"class": kind})
        if location.rank not in processes:
            group = ET.SubElement(
                made[location.machine, location.node], "locationgroup", Id=str(len(processes))
            )
            rank = str(location.rank)
            processes[location.rank] = _texts(group, name=f"MPI Rank {rank}", rank=rank, type="process")
        thread = ET.SubElement(processes[location.rank], "location", Id=str(number))
        name = location.name or "Master thread"
        _texts(thread, name=name, rank=str(location.thread), type="thread")
