"""Checkpoints on disk: what is written comes back, whatever is not as it was written is refused by name."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays
from pse_testing.example_counts import some_of

from pse._locks import try_lock
from pse.errors import RunError, UsageError
from pse.runtime.checkpoint import _files
from pse.runtime.checkpoint._files import Directory
from pse.runtime.checkpoint._manifest import (
    FORMAT,
    MANIFEST,
    CheckpointRefused,
    Manifest,
    Saved,
    to_text,
    verify,
)
from pse.runtime.checkpoint._reader import Reader, read_manifest
from pse.runtime.request import Request
from pse.runtime.request._resume import continued

TYPES = ("i4", "i8", "f4", "f8", "c8", "c16", "u1", "u2", "?")
NAMES = st.from_regex(r"(%count|[a-z]+(#\d+\.[a-z]+)?)\d{0,3}", fullmatch=True)
PLAIN = Manifest(
    program="p.coven",
    path="/there/p.coven",
    text="program p\n",
    modules={"/there/m.c": "00"},
    defines={"N": "4"},
    options=("arena=1MiB",),
    every="30s",
    processors=2,
    partitions={"P": 2},
    place="p.coven:3:1",
)


@st.composite
def values(draw):
    keys = draw(st.lists(st.tuples(NAMES, st.none() | st.integers(0, 9)), unique=True, max_size=4))
    shapes = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    dtypes = st.sampled_from([np.dtype(name) for name in TYPES])
    return [Saved(name, p, draw(arrays.arrays(draw(dtypes), draw(shapes)))) for name, p in keys]


def commit(place, manifest):
    place.commit(to_text(manifest), manifest.files)


def saved(directory, ranks, **changes):
    """Write a checkpoint: the values of each rank."""
    place = Directory(str(directory))
    serial = changes.get("serial", 1)
    files = tuple(place.write(serial, rank, held) for rank, held in enumerate(ranks))
    commit(place, replace(PLAIN, **{"serial": serial, **changes}, files=files))
    return place


def check(directory):
    """Read a checkpoint as whoever resumes does."""
    manifest = read_manifest(str(directory))
    for note in manifest.files:
        verify(str(directory), note)
    return manifest


@settings(max_examples=some_of(60), deadline=None)
@given(ranks=st.lists(values(), min_size=1, max_size=3))
def test_any_values_come_back_as_they_were(ranks, tmp_path_factory):
    directory = tmp_path_factory.mktemp("any")
    # A name stands for one value in the whole checkpoint.
    ranks = [[replace(v, name=f"r{rank}.{v.name}") for v in held] for rank, held in enumerate(ranks)]
    saved(directory, ranks)
    reader = Reader(str(directory), check(directory))
    for value in (value for held in ranks for value in held):
        back, into = reader.read(value.member), np.empty_like(value.array)
        reader.read_into(value.member, into)
        for found in (back, into):
            assert (found.dtype, found.shape) == (value.array.dtype, value.array.shape)
            assert found.tobytes() == value.array.tobytes()  # bits, not values: NaN and -0.0 count
        assert reader.describe(value.member) == (value.array.dtype, value.array.shape)
    reader.close()


@settings(max_examples=some_of(30), deadline=None)
@given(text=st.text(max_size=50), options=st.lists(st.text(max_size=9)), data=st.data())
def test_any_manifest_comes_back_as_it_was(text, options, data, tmp_path_factory):
    directory = tmp_path_factory.mktemp("manifest")
    numbers = {name: data.draw(st.integers(0, 2**63)) for name in ("point", "rounds", "iterations")}
    manifest = replace(PLAIN, text=text, options=tuple(options), figures={text: float.hex(-0.0)}, **numbers)
    commit(Directory(str(directory)), manifest)
    assert read_manifest(str(directory)) == manifest


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A small checkpoint of two ranks, and the bytes of its files."""
    directory = tmp_path_factory.mktemp("checkpoint")
    saved(
        directory,
        [[Saved("u", 0, np.arange(3.0))], [Saved("u", 1, np.arange(2)), Saved("n", None, np.array(7))]],
    )
    return directory, {path.name: path.read_bytes() for path in directory.iterdir()}


def damaged(directory, contents, name, data):
    """Read the checkpoint with other bytes in one file; gives why it is refused."""
    try:
        (directory / name).write_bytes(data)
        with pytest.raises(CheckpointRefused) as refused:
            check(directory)
    finally:
        (directory / name).write_bytes(contents[name])
    assert name in refused.value.message
    assert refused.value.exit_code == 2
    return refused.value.message


@settings(max_examples=some_of(200), deadline=None)
@given(data=st.data())
def test_any_changed_byte_is_found_and_its_file_named(checkpoint, data):
    directory, contents = checkpoint
    name = data.draw(st.sampled_from(sorted(contents)))
    at = data.draw(st.integers(0, len(contents[name]) - 1))
    other = data.draw(st.integers(1, 255)) ^ contents[name][at]
    words = damaged(
        directory, contents, name, contents[name][:at] + bytes([other]) + contents[name][at + 1 :]
    )
    assert re.search("altered|damaged", words)


@settings(max_examples=some_of(60), deadline=None)
@given(data=st.data())
def test_any_truncation_is_found_and_its_file_named(checkpoint, data):
    directory, contents = checkpoint
    name = data.draw(st.sampled_from(sorted(contents)))
    length = data.draw(st.integers(0, len(contents[name]) - 1))
    words = damaged(directory, contents, name, contents[name][:length])
    assert name == MANIFEST or f"has {length} bytes" in words


def test_a_missing_file_is_named(checkpoint):
    directory, contents = checkpoint
    name = min(contents)
    (directory / name).unlink()
    try:
        with pytest.raises(CheckpointRefused, match=rf"{name} is missing"):
            check(directory)
    finally:
        (directory / name).write_bytes(contents[name])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "something else"}', "[" * 100_000, "\0"])
def test_a_foreign_manifest_is_refused(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(CheckpointRefused, match=r"checkpoint\.json is not a checkpoint manifest of pse"):
        read_manifest(str(tmp_path))


def test_a_directory_without_a_checkpoint_is_named(tmp_path):
    with pytest.raises(CheckpointRefused, match=r"holds no checkpoint: there is no .*checkpoint\.json"):
        read_manifest(str(tmp_path))
    with pytest.raises(CheckpointRefused, match=r"nowhere holds no checkpoint"):
        read_manifest(str(tmp_path / "nowhere"))


def test_a_newer_version_is_refused_by_its_number(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr("pse.runtime.checkpoint._manifest.FORMAT", replace(FORMAT, version=7))
        commit(Directory(str(tmp_path)), PLAIN)
    with pytest.raises(CheckpointRefused, match=r"has version 7 of the format; this pse reads version 1"):
        read_manifest(str(tmp_path))


def test_a_file_changed_after_it_was_verified_is_found_when_it_is_read(tmp_path):
    saved(tmp_path, [[Saved("u", None, np.zeros(1000))]])
    manifest = check(tmp_path)
    path = tmp_path / manifest.files[0].name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    reader = Reader(str(tmp_path), manifest)
    with pytest.raises(RunError, match=r"rank-0\.npz: u can't be read: Bad CRC-32"):
        reader.read_into("u", np.empty(1000))
    with pytest.raises(RunError, match=r"rank-0\.npz: u can't be read: Bad CRC-32"):
        reader.read("u")


def test_numpy_opens_the_files(tmp_path):
    saved(tmp_path, [[Saved("u", 3, np.arange(5))]])
    with np.load(tmp_path / check(tmp_path).files[0].name, allow_pickle=False) as opened:
        assert opened["u@3"].tolist() == [0, 1, 2, 3, 4]


def test_arrays_may_lie_in_memory_as_they_like(tmp_path):
    columns = np.arange(12).reshape(3, 4).T
    saved(tmp_path, [[Saved("u", None, columns), Saved("v", None, np.arange(9)[::-2])]])
    reader, into = Reader(str(tmp_path), check(tmp_path)), np.zeros((4, 3), np.int64)
    reader.read_into("u", into)
    assert (into == columns).all()
    assert reader.read("v").tolist() == [8, 6, 4, 2, 0]


def test_one_checkpoint_replaces_the_one_before_and_what_was_left_half_written(tmp_path):
    saved(tmp_path, [[], []], serial=1)
    for name in ("000002-rank-1.npz.part", "000002-rank-0.npz", f"{MANIFEST}.part"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / "notes.npz").write_bytes(b"the user's")
    saved(tmp_path, [[], []], serial=3)
    names = {"000003-rank-0.npz", "000003-rank-1.npz", MANIFEST, "notes.npz"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert check(tmp_path).serial == 3


FULL = """
import resource, sys
import numpy as np
from pse.runtime.checkpoint import _files
from pse.runtime.checkpoint._files import Directory
from pse.runtime.checkpoint._manifest import Saved
place = Directory(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    place.write(2, 0, [Saved("u", None, np.zeros(100_000))])
except OSError as error:
    print(error.filename, error.strerror)
"""


def test_where_a_file_has_no_room_it_is_named_and_the_checkpoint_before_stays(tmp_path):
    saved(tmp_path, [[Saved("u", None, np.ones(10))]])
    before = sorted(os.listdir(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == f"{tmp_path}/000002-rank-0.npz File too large\n"
    assert sorted(os.listdir(tmp_path)) == before
    check(tmp_path)


def test_a_manifest_that_finds_no_room_leaves_the_one_before(tmp_path):
    place = saved(tmp_path, [[Saved("u", None, np.ones(10))]])
    note = place.write(2, 0, [Saved("u", None, np.zeros(10))])
    (tmp_path / f"{MANIFEST}.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*/checkpoint\.json'"):
        commit(place, replace(PLAIN, serial=2, files=(note,)))
    assert check(tmp_path).serial == 1


def test_one_run_at_a_time_writes_to_a_directory(tmp_path):
    first = Directory(str(tmp_path)).lock()
    with pytest.raises(UsageError, match="another run is writing its checkpoints there"):
        Directory(str(tmp_path)).lock(patience=0.0)
    os.close(first)
    os.close(Directory(str(tmp_path)).lock())


def test_what_ranks_of_a_killed_run_still_write_is_awaited_before_it_is_resumed(tmp_path, monkeypatch):
    saved(tmp_path, [[]])
    assert read_manifest(str(tmp_path)).serial == 1
    writer = Directory(str(tmp_path))
    taken = writer.lock()

    class OneMoreCheckpoint:
        """A wait in which the other run writes once more, and is dead then."""

        def sleep_until(self, done, patience):
            assert not done()
            commit(writer, replace(read_manifest(str(tmp_path)), serial=2))
            os.close(taken)
            return done()

    monkeypatch.setattr(_files, "Backoff", OneMoreCheckpoint)
    _, manifest = continued(Request("", {}, checkpoint=str(tmp_path), resume=True))
    assert manifest.serial == 2
    other = os.open(tmp_path / "lock", os.O_RDWR)
    assert try_lock(other)  # Nobody keeps it.
    os.close(other)


def test_what_can_be_no_directory_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--checkpoint .*file: it is a file; expected a directory"):
        Directory(str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"--checkpoint .*null"):
        Directory("a\0b")


def test_a_manifest_that_names_files_elsewhere_is_refused(tmp_path):
    saved(tmp_path, [[]])
    manifest = read_manifest(str(tmp_path))
    note = replace(manifest.files[0], name="../../etc/passwd")
    commit(Directory(str(tmp_path)), replace(manifest, files=(note,)))
    with pytest.raises(CheckpointRefused, match="does not have the form of a manifest of this version"):
        read_manifest(str(tmp_path))
    assert json.loads((tmp_path / MANIFEST).read_text())["files"][0]["name"] == "../../etc/passwd"


def test_a_lock_that_cannot_be_opened_is_refused_by_name(tmp_path):
    (tmp_path / "lock").mkdir()
    with pytest.raises(UsageError, match=r"/lock can't be opened for writing: Is a directory") as refused:
        Directory(str(tmp_path)).lock()
    assert "name another directory" in refused.value.help
