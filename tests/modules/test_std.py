"""The functions of the standard library: files, images, printing."""

import errno
import os
import resource
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from pse.errors import ModuleNotFound
from pse.language.check._ir import ModuleReference
from pse.modules import Finder, ModuleError, call_python, load_module
from pse.modules.std import _images as images, _parallel_files
from pse.modules.std._drafts import appearing, draft_name
from pse.modules.std._signatures import DIRECTIVES, STRUCTURAL, standard_file


@pytest.fixture
def std():
    """Load a module of the standard library by name."""

    def load_standard(name):
        found = Finder().find("pse.std", "program.coven")
        signature = next(s for s in found.signatures if s.name == name)
        return load_module(ModuleReference(name, signature, None, "pse.std", signature.span.line, "std"))

    return load_standard


def test_every_directive_of_the_standard_library_is_read():
    assert len(standard_file().signatures) == len(DIRECTIVES.splitlines())
    names = {signature.name for signature in standard_file().signatures}
    assert names > STRUCTURAL


@pytest.mark.parametrize("name", sorted(STRUCTURAL))
def test_what_the_runtime_carries_out_has_no_function(std, name):
    loaded = std(name)
    assert (loaded.native, loaded.callable) == (None, None)


@pytest.mark.parametrize("ending", [".npy", ".h5", ".raw"])
@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.array([1 + 2j]), np.zeros((0, 4), np.int32)]
)
def test_what_is_saved_is_loaded(std, tmp_path, ending, array):
    if ending == ".h5":
        pytest.importorskip("h5py", reason="h5py (extra pse[hdf5]) is not installed")
    file = str(tmp_path / f"a{ending}")
    assert call_python(std("save"), [file, array, ""]) == ()
    out = np.empty_like(array)
    (loaded,) = call_python(std("load"), [file, ""], {"a": out})
    assert loaded is out
    np.testing.assert_array_equal(out, array)


def test_a_strided_array_is_saved(std, tmp_path):
    array = np.arange(24.0).reshape(4, 6)[::2, ::-3]
    call_python(std("save"), [str(tmp_path / "a.npy"), array, ""])
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)


def test_a_file_is_replaced_whole_with_ordinary_permissions(std, tmp_path):
    file = tmp_path / "a.npy"
    file.write_text("old")
    call_python(std("save"), [str(file), np.zeros(2), ""])
    assert os.listdir(tmp_path) == ["a.npy"]
    mask = os.umask(0)
    os.umask(mask)
    assert file.stat().st_mode & 0o777 == 0o666 & ~mask


def test_what_a_killed_writer_left_is_removed_by_the_next_one(std, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.ones(3))
    if not (child := os.fork()):
        with appearing("a.npy") as number:
            Path(draft_name("a.npy", number)).write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert sorted(os.listdir()) == [".a.npy.1.draft", "a.npy"]
    np.testing.assert_array_equal(np.load("a.npy"), np.ones(3))
    call_python(std("save"), ["a.npy", np.zeros(2), ""])
    assert os.listdir() == ["a.npy"]
    np.testing.assert_array_equal(np.load("a.npy"), np.zeros(2))


def test_writers_of_one_file_keep_out_of_each_others_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with appearing("a.txt") as one:
        with appearing("a.txt") as other:
            Path(draft_name("a.txt", other)).write_text("first")
        assert (one, other) == (1, 2)
        Path(draft_name("a.txt", one)).write_text("second")
    assert (os.listdir(), Path("a.txt").read_text()) == (["a.txt"], "second")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("folder", "save: folder is a directory"),
        (
            "a.csv",
            "the format can't be told from the name a.csv: "
            "it must end in .npy, .h5, .tif, .nc, .raw or .zarr",
        ),
        ("a", "from the name a: it must end"),
        ("", "from an empty name: it must end"),
        ("absent/a.npy", "absent/a.npy can't be saved: there is no folder absent"),
        ("full.npy", "full.npy can't be saved: No space left on device"),
        ("read_only.npy", "read_only.npy can't be saved: Read-only file system"),
    ],
)
def test_files_that_cannot_be_saved(std, tmp_path, monkeypatch, file, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    refusals = {"full.npy": errno.ENOSPC, "read_only.npy": errno.EROFS}
    if number := refusals.get(file):

        def refused(*arguments, **options):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "pwrite", refused)
    with pytest.raises(ModuleError) as caught:
        call_python(std("save"), [file, np.zeros(2), ""])
    assert message in caught.value.message
    assert caught.value.help
    assert os.listdir(tmp_path) == ["folder"]


REMEDIES = {
    "shape.npy": "declare the tag with the file's shape, [3], or name another file",
    "type.npy": "convert it with NumPy, or declare the tag with the file's element type",
}


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("absent.npy", "absent.npy can't be loaded: there is no such file"),
        ("folder", "load: folder is a directory"),
        ("text.npy", "text.npy can't be loaded: "),
        ("short.npy", "short.npy can't be loaded: "),
        ("objects.npy", "objects.npy can't be loaded: "),
        ("shape.npy", "shape.npy holds float64[3]; the program expects float64[2, 2]"),
        ("type.npy", "type.npy holds float32[2, 2]; the program expects float64[2, 2]"),
    ],
)
def test_files_that_cannot_be_loaded(std, tmp_path, monkeypatch, file, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.npy").write_text("no array")
    np.save("whole.npy", np.zeros((2, 2)))
    (tmp_path / "short.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:-8])
    np.save("objects.npy", np.array([{}], object), allow_pickle=True)
    np.save("shape.npy", np.zeros(3))
    np.save("type.npy", np.zeros((2, 2), np.float32))
    with pytest.raises(ModuleError) as caught:
        call_python(std("load"), [file, ""], {"a": np.empty((2, 2))})
    assert message in caught.value.message
    assert file not in REMEDIES or caught.value.help == REMEDIES[file]


def test_a_missing_dataset_is_told_with_those_that_the_file_has(std, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py (extra pse[hdf5]) is not installed")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["one"], file["two"] = [1.0], [2.0]
    with pytest.raises(ModuleError, match="has no dataset `data`; it holds: one, two"):
        call_python(std("load"), [str(tmp_path / "a.h5"), ""], {"a": np.empty(1)})


def test_saving_h5_without_h5py_names_the_package_and_writes_nothing(std, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(ModuleError, match="needs the package h5py") as caught:
        call_python(std("save"), [str(tmp_path / "a.h5"), np.zeros(1), ""])
    assert "pip install 'pse[hdf5]'" in caught.value.help
    assert os.listdir(tmp_path) == []


def test_printing_takes_any_number_of_values(std, capsys):
    assert call_python(std("print"), [3, 0.1 + 0.2, "text", True]) == ()
    assert capsys.readouterr().out == "3 0.3 text true\n"


# Images.


@pytest.fixture
def pictures(tmp_path):
    """Make a directory with three arrays and a file that is none."""
    np.save(tmp_path / "frame10.npy", np.full((2, 2), 10.0))
    np.save(tmp_path / "frame2.npy", np.full((2, 2), 2.0))
    np.savez(tmp_path / "frame3.npz", small=np.zeros(9), image=np.full((2, 2), 3.0))
    (tmp_path / "notes.txt").write_text("no picture")
    return tmp_path


def test_a_directory_is_read_in_natural_order_round_and_round(std, pictures):
    values = [
        call_python(std("source"), [str(pictures), k, 4], {"image": np.empty((4, 4))})[0][0, 0]
        for k in range(5)
    ]
    assert values == [2, 3, 10, 2, 3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.uint8, np.int32])
def test_images_come_in_the_tags_element_type(std, dtype, tmp_path):
    np.save(tmp_path / "a.npy", np.array([[-3.0, 300.6]]))
    (image,) = call_python(std("source"), [str(tmp_path), 0, 2], {"image": np.empty((2, 2), dtype)})
    expected = {np.uint8: [0, 255], np.int32: [-3, 301]}.get(dtype, [-3, 300.6])
    np.testing.assert_allclose(image, [expected, expected], rtol=1e-6)


@pytest.mark.parametrize(
    ("ending", "mode"),
    [(".png", mode) for mode in ("L", "RGB", "RGBA", "P", "I;16", "1", "LA")]
    + [(".tif", mode) for mode in ("L", "RGB", "RGBA", "P", "I;16", "1", "LA", "CMYK", "F")]
    + [(".jpg", mode) for mode in ("L", "RGB", "CMYK")],
)
def test_pictures_become_grey(tmp_path, ending, mode):
    pillow = pytest.importorskip("PIL.Image")
    pillow.new(mode, (5, 3)).save(tmp_path / f"a{ending}")
    assert images.grey(tmp_path / f"a{ending}").shape == (3, 5)


def test_grey_is_luminance(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("RGB", (2, 2), (100, 0, 0)).save(tmp_path / "a.png")
    np.testing.assert_allclose(images.grey(tmp_path / "a.png"), 29.9)


def test_the_samples_are_real_pictures():
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL.Image")
    assert len(images.listing("samples")) == 4
    for k in range(4):
        image = images.read("samples", k, 16)
        assert image.shape == (16, 16)
        assert image.std() > 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("absent", "absent can't be read as a directory: No such file or directory"),
        ("notes.txt", "notes.txt can't be read as a directory: Not a directory"),
        ("empty", "there are no images or arrays in empty (0 other files)"),
        ("cube", "holds float64[2, 2, 9]; expected numbers with two axes"),
        ("broken", "a.png can't be read"),
        ("objects", "a.npy can't be read"),
    ],
)
def test_a_directory_that_cannot_be_used_is_named(pictures, monkeypatch, where, message):
    pytest.importorskip("PIL.Image")
    monkeypatch.chdir(pictures)
    for folder in ("empty", "cube", "broken", "objects"):
        (pictures / folder).mkdir()
    np.save("cube/a.npy", np.zeros((2, 2, 9)))
    (pictures / "broken" / "a.png").write_bytes(b"\x89PNG no more")
    np.save("objects/a.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ModuleError) as caught:
        images.read(where, 0, 4)
    assert message in caught.value.message


@given(hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), st.integers(1, 12))
def test_shrinking_keeps_the_mean(shape, n):
    rng = np.random.default_rng(shape[0] * 100 + shape[1])
    array = rng.random(shape)
    small = images.resample(array, n)
    assert small.shape == (n, n)
    assert array.min() - 1e-9 <= small.min() <= small.max() <= array.max() + 1e-9
    if n <= min(shape):
        np.testing.assert_allclose(small.mean(), array.mean(), rtol=1e-9)


def test_growing_is_linear_inside():
    line = np.repeat(np.arange(4.0)[:, np.newaxis], 4, axis=1)
    grown = images.resample(line, 8)
    np.testing.assert_allclose(grown[1:-1, 0], np.arange(0.25, 2.8, 0.5))


def test_the_standard_library_has_no_file():
    with pytest.raises(ModuleNotFound, match=r"pse\.standard"):
        Finder().find("pse.standard", "p.coven")


@pytest.mark.parametrize("ending", [".npy", ".h5"])
def test_a_full_disk_is_what_save_says(std, tmp_path, ending):
    if ending == ".h5":
        pytest.importorskip("h5py", reason="h5py (extra pse[hdf5]) is not installed")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(ModuleError, match="can't be saved") as caught:
            call_python(std("save"), [str(tmp_path / f"a{ending}"), np.ones(100_000), ""])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "free some space there" in caught.value.help
    assert list(tmp_path.iterdir()) == []


def test_a_partition_whose_draft_another_one_removed_lets_that_one_tell_why(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    messages = SimpleNamespace(partition_index=lambda: 1, bcast=lambda place: place, barrier=lambda: None)
    pieces = SimpleNamespace(decided=False, shape=(4,), own=..., mine=(np.arange(2, 4),), messages=messages)
    steps = _parallel_files.save(str(tmp_path / "a.raw"), np.ones(2), pieces)
    next(steps)
    with pytest.raises(ModuleError, match="what the first partition began beside it is not here") as caught:
        next(steps)
    assert "another partition failed" in caught.value.help
    assert slept
