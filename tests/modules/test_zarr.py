"""`save` and `load` of the standard library with zarr stores."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from pse.modules import ModuleError
from pse.modules.std import _files as files
from pse.modules.std._drafts import appearing_folder, draft_name
from pse.modules.std._formats import ArrayFile

zarr = pytest.importorskip("zarr", reason="zarr (extra pse[zarr]) is not installed")


@pytest.fixture(autouse=True)
def _in_directory_of_test(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def chunk_of(shape, *pieces, element="f8"):
    """Give the shape of chunks for the cells that partitions have along the first axis."""
    array = ArrayFile("a.zarr", shape, np.dtype(element))
    cells = [[np.asarray(rows), *map(np.arange, shape[1:])] for rows in pieces]
    return files.in_chunks(array, files.format_of(array, "save"), cells).chunk


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.array([1 + 2j]),
        np.zeros((0, 4), np.int32),
        np.float32(2.5).reshape(()),
        np.array([True, False]),
        np.arange(12, dtype=np.uint16).reshape(3, 4)[:, ::2],
    ],
)
def test_zarr_reads_what_is_saved_and_it_is_loaded(array):
    for _ in range(2):  # The second store takes the place of the first one.
        files.save("a.zarr", array)
    assert [path.name for path in Path().iterdir()] == ["a.zarr"]
    found = zarr.open_array("a.zarr", mode="r")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found[...], array)
    out = np.empty_like(array)
    files.load_into("a.zarr", out)
    np.testing.assert_array_equal(out, array)
    np.testing.assert_array_equal(files.load("a.zarr"), array)


def test_chunks_are_as_large_as_pieces_allow():
    assert chunk_of((12, 5), range(6), range(6, 12)) == (6, 5)
    assert chunk_of((10, 5), range(4), range(4, 8), range(8, 10)) == (4, 5), "the last chunk is shorter"
    assert chunk_of((10, 5), range(4), range(4, 7), range(7, 10)) == (1, 5)
    assert chunk_of((8, 5), [0, 1, 4, 5], [2, 3, 6, 7]) == (2, 5)
    assert chunk_of((8, 5), range(8), []) == (8, 5)
    assert chunk_of((6000, 3, 1 << 10), range(6000)) == (682, 3, 1 << 10), "a chunk has more than 16 MiB"
    assert chunk_of((6000, 1 << 10), range(3000), range(3000, 6000)) == (1500, 1 << 10)
    assert chunk_of((1 << 23,), np.arange(1 << 23)) == (1 << 21,)


def test_tiny_chunks_are_refused_with_what_to_do():
    rows = np.arange(1000)
    assert chunk_of((1000, 1 << 13), rows[::2], rows[1::2]) == (1, 1 << 13)
    with pytest.raises(ModuleError, match=r"a.zarr: .* would be 1,000, of 8 B") as caught:
        chunk_of((1000,), rows[::2], rows[1::2])
    assert "redistribute the array to @ block(0)" in caught.value.help


def test_arrays_of_groups_are_loaded_by_name():
    group = zarr.open_group("g.zarr", mode="w", zarr_format=2)
    for name in ("x", "y"):
        group.create_array(name, shape=(5,), chunks=(2,), dtype="i4")[:] = np.arange(5)
    out = np.empty(5, np.int32)
    files.load_into("g.zarr", out, "y")
    np.testing.assert_array_equal(out, np.arange(5))
    with pytest.raises(ModuleError, match="has no array `data`; it holds: x, y") as caught:
        files.load_into("g.zarr", out)
    assert caught.value.help == 'name one of them:  load("g.zarr", "x")'


def test_stores_that_are_damaged_or_of_another_shape_are_named():
    files.save("a.zarr", np.arange(6.0))
    for shape, element in (((5,), float), ((6,), np.float32)):
        with pytest.raises(ModuleError, match=r"a.zarr holds float64\[6\]; the program expects"):
            files.load_into("a.zarr", np.empty(shape, element))
    Path("a.zarr/c/0").write_bytes(b"nothing")
    with pytest.raises(ModuleError, match=r"a.zarr can't be read: a chunk of \[0:6\] is damaged") as caught:
        files.load_into("a.zarr", np.empty(6))
    assert "Fetch it anew" in caught.value.help
    for text in ("{", '{"zarr_format": 3, "node_type": "array"}'):
        Path("a.zarr/zarr.json").write_text(text)
        with pytest.raises(ModuleError, match=r"a.zarr can't be read: its metadata is damaged"):
            files.load_into("a.zarr", np.empty(6))
    shutil.rmtree("a.zarr")
    with pytest.raises(ModuleError, match=r"a.zarr can't be loaded: there is no such file"):
        files.load_into("a.zarr", np.empty(6))


def test_what_is_no_store_is_neither_read_nor_replaced():
    Path("a.zarr").mkdir()
    Path("a.zarr/letter.txt").write_text("Dear …")
    with pytest.raises(ModuleError, match=r"a.zarr can't be saved: it is a directory, and no zarr store"):
        files.save("a.zarr", np.arange(6.0))
    with pytest.raises(ModuleError, match=r"a.zarr can't be loaded: it is no zarr store"):
        files.load_into("a.zarr", np.empty(6))
    assert [str(path) for path in sorted(Path().rglob("*"))] == ["a.zarr", "a.zarr/letter.txt"]
    with pytest.raises(ModuleError, match=r"b.zarr: zarr has no elements of type \[\('x', '<i4'\)\]"):
        files.save("b.zarr", np.zeros(2, [("x", "<i4")]))
    assert not Path("b.zarr").exists()


def _fail_to_save(file):
    with appearing_folder(file) as number:
        Path(draft_name(file, number, folder=True)).mkdir()
        Path(file).mkdir()


def test_a_store_that_fails_leaves_the_former_one_and_the_next_one_removes_what_was_left():
    files.save("a.zarr", np.arange(6.0))
    with pytest.raises(FileExistsError):
        _fail_to_save("a.zarr")
    assert [path.name for path in Path().iterdir()] == ["a.zarr"]
    Path(draft_name("a.zarr", 1)).touch()  # as a writer that was killed leaves it
    Path(draft_name("a.zarr", 1, folder=True)).mkdir()
    files.save("a.zarr", np.arange(3.0))
    assert [path.name for path in Path().iterdir()] == ["a.zarr"]
    np.testing.assert_array_equal(files.load("a.zarr"), np.arange(3.0))
