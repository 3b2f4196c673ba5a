"""A second reader of OTF2, from the format of its files, without the library: what is written was meant.

Files are chunks of 18 bytes of header and records.  A record is a byte for its type, the length of what
follows (not in Enter and Leave), and fields; a whole number is the count of its bytes and these bytes, the
lowest first.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pse import trace

pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
from pse.trace.interchange import export_otf2

END_OF_CHUNK, END_OF_BUFFER, END_OF_FILE, CHUNK, TIMESTAMP, ATTRIBUTES = 0, 1, 2, 3, 5, 6
ENTER, LEAVE, MPI_SEND, MPI_RECV = 12, 13, 14, 18
FIELDS = {ENTER: 1, LEAVE: 1, MPI_SEND: 4, MPI_RECV: 4}
STRING, ATTRIBUTE, REGION = 10, 11, 15
UNDEFINED = 0xFFFFFFFF


@dataclass
class Bytes:
    """A file that is read byte by byte."""

    data: bytes
    at: int = 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.take(1)[0]

    def number(self):
        count = self.byte()
        return UNDEFINED if count == 0xFF else int.from_bytes(self.take(count), "little")

    def length(self):
        count = self.byte()
        return int.from_bytes(self.take(8), "little") if count == 0xFF else count


def records(path: Path, short=()):
    """Type and file of each record, the file at its fields; `short` are types without a length."""
    file = Bytes(path.read_bytes())
    while (kind := file.byte()) != END_OF_FILE:
        if kind == CHUNK:
            file.take(17)
        elif kind in short:
            yield kind, file
        elif kind != END_OF_CHUNK:
            yield kind, Bytes(file.take(file.length()))
    assert file.byte() == END_OF_BUFFER
    assert file.at == len(file.data)


def events(path):
    """Time, type, attributes and fields of the events that this reader knows; others have no fields."""
    time, attributes = None, {}
    for kind, fields in records(path, short=(TIMESTAMP, ENTER, LEAVE)):
        if kind == TIMESTAMP:
            time = int.from_bytes(fields.take(8), "little")
        elif kind == ATTRIBUTES:
            attributes = dict(attribute(fields) for _ in range(fields.number()))
        else:
            yield time, kind, attributes, tuple(fields.number() for _ in range(FIELDS.get(kind, 0)))
            attributes = {}


def attribute(file):
    number, kind = file.number(), file.byte()
    assert kind in (4, 8)  # uint64, int64
    return number, file.number()


def definitions(path):
    """Names of attributes, and of regions with their files and first lines."""
    strings, attributes, regions = {}, {}, {}
    for kind, fields in records(path):
        if kind == STRING:
            number = fields.number()
            strings[number] = fields.data[fields.at :].rstrip(b"\0").decode()
        elif kind == ATTRIBUTE:
            number, name = fields.number(), fields.number()
            attributes[number] = strings[name]
        elif kind == REGION:
            number, name, _ = (fields.number() for _ in range(3))
            fields.byte()  # The role as OTF2 1 had it; what came later stands after the place.
            regions[number] = strings[name], strings[fields.number()], fields.number()
    return attributes, regions


@pytest.fixture
def written(small_trace, tmp_path):
    export_otf2(trace.open(small_trace), tmp_path / "out")
    attributes, regions = definitions(tmp_path / "out" / "traces.def")

    def of(rank):
        for time, kind, said, fields in events(tmp_path / "out" / "traces" / f"{rank}.evt"):
            named = {attributes[number].removeprefix("PSE::"): value for number, value in said.items()}
            if "added" not in named and kind in FIELDS:
                yield time, kind, regions[fields[0]][0] if kind in (ENTER, LEAVE) else fields, named

    return of, regions


def test_calls_are_there_with_what_otf2_has_no_field_for(written):
    of, _ = written
    assert [record for record in of(0) if record[1] in (ENTER, LEAVE)] == [
        (1000, ENTER, "load_frame", {"event": 24, "TPH": 1, "call site": 0}),
        (1400, LEAVE, "load_frame", {"event": 25, "TPH": 1, "call site": 0, "CPU time": 300}),
        (1500, ENTER, "load_frame", {"event": 24, "TPH": 2, "call site": 0}),
        (1700, LEAVE, "load_frame",
         {"event": 25, "TPH": 2, "call site": 0, "CPU time": 200, "returned": 7, "failed": 1}),
    ]  # fmt: skip


def test_hand_overs_are_messages(written):
    """Receiver or sender, communicator 2 (after those of MPI), tag and length."""
    of, _ = written
    sent = [record for record in of(0) if record[1] == MPI_SEND]
    assert [(time, fields) for time, _, fields, _ in sent] == [
        (1450, (1, 2, 0, 2048)),
        (1460, (2, 2, 0, 2048)),
    ]
    assert [named["sequence"] for *_, named in sent] == [1, 1]
    (received,) = [record for record in of(1) if record[1] == MPI_RECV]
    assert received[:3] == (1500, MPI_RECV, (0, 2, 0, 2048))


def test_regions_know_their_places(written):
    _, regions = written
    assert ("fft.rows", "programs/small.coven", 12) in regions.values()
    assert ("MPI_Init", "MPI", 0) in regions.values()
    assert ("engine", "", 0) in regions.values()


def test_waits_are_regions(written):
    of, _ = written
    assert [record[:3] for record in of(1) if record[2] == "wait: input"] == [
        (1000, ENTER, "wait: input"),
        (1600, LEAVE, "wait: input"),
    ]
