"""`save` and `load` of the standard library with GeoTIFF and NetCDF: other libraries read the same."""

import re
import warnings

import numpy as np
import pytest

from pse.modules import ModuleError
from pse.modules.std import _files as files

rasterio = pytest.importorskip("rasterio", reason="rasterio (extra pse[scenes]) is not installed")
netCDF4 = pytest.importorskip("netCDF4", reason="netCDF4 (extra pse[scenes]) is not installed")
PLACE = {"crs": "EPSG:32725", "transform": rasterio.Affine(30, 0, 500_000, 0, -30, 9_000_000)}
BANDS = np.arange(3 * 40 * 7, dtype=np.uint16).reshape(3, 40, 7)


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A scene of three bands with names, compressed in tiles, in the directory of the test."""
    monkeypatch.chdir(tmp_path)
    profile = {"height": 40, "width": 7, "count": 3, "dtype": "uint16", "compress": "deflate"}
    with rasterio.open("scene.tif", "w", driver="GTiff", blockysize=8, **profile, **PLACE) as made:
        made.write(BANDS)
        made.descriptions = ("red", "near infrared", "quality")
    return "scene.tif"


@pytest.mark.parametrize(
    ("array", "ending"),
    [
        (BANDS, ".tif"),
        (np.arange(3000 * 71, dtype=np.uint8).reshape(3000, 71), ".tif"),
        (np.array([[1 + 2j]]), ".tif"),
        (BANDS, ".nc"),
        (np.float64(3.5).reshape(()), ".nc"),
        (np.zeros((0, 4), np.float32), ".nc"),
    ],
)
def test_others_read_what_is_saved(tmp_path, array, ending):
    file = str(tmp_path / f"a{ending}")
    files.save(file, array)
    out = np.empty_like(array)
    files.load_into(file, out)
    np.testing.assert_array_equal(out, array)
    if ending == ".nc":
        with netCDF4.Dataset(file) as content:
            assert (content["data"].dtype, content["data"].shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(content["data"][...], array)
        return
    with warnings.catch_warnings(action="ignore"), rasterio.open(file) as content:
        np.testing.assert_array_equal(content.read().reshape(array.shape), array)


def test_bands_are_loaded_by_name_number_or_all(scene):
    for name, band in (("near infrared", 1), ("3", 2)):
        one = np.empty((40, 7), np.uint16)
        files.load_into(scene, one, name)
        np.testing.assert_array_equal(one, BANDS[band])
    every = np.empty(BANDS.shape, np.uint16)
    files.load_into(scene, every)
    np.testing.assert_array_equal(every, BANDS)
    with pytest.raises(ModuleError, match="has no band `blue`; it holds: red, near infrared, quality"):
        files.load_into(scene, one, "blue")


def test_bands_with_scales_are_loaded_as_reals_if_these_are_asked_for(scene):
    with rasterio.open(scene, "r+") as made:
        made.scales, made.offsets, made.nodata = (0.5, 2, 1), (0, -1, 0), 300
    every = np.empty(BANDS.shape)
    files.load_into(scene, every)
    expected = BANDS * np.reshape((0.5, 2, 1), (3, 1, 1)) - np.reshape((0, 1, 0), (3, 1, 1))
    expected[BANDS == 300] = np.nan
    np.testing.assert_array_equal(every, expected)
    one = np.empty((40, 7), np.float32)
    files.load_into(scene, one, "near infrared")
    np.testing.assert_array_equal(one, expected[1])
    with files.loaded(files.ArrayFile(scene, BANDS.shape, np.dtype(np.float64))) as stored:
        np.testing.assert_array_equal(stored[1:3, 5:9, 0:4], expected[1:3, 5:9, 0:4])


def test_a_picture_lies_where_another_one_does(scene):
    files.save("index.tif", BANDS.astype(np.float32), like=scene)
    with rasterio.open("index.tif") as made:
        assert (made.crs, made.transform) == (rasterio.CRS.from_epsg(32725), PLACE["transform"])
        assert made.descriptions == ("red", "near infrared", "quality")
        np.testing.assert_array_equal(made.read(), BANDS)
    with pytest.raises(ModuleError, match=r"scene.tif lies: that has 40 × 7 cells, the array 5 × 5"):
        files.save("small.tif", np.zeros((5, 5)), like=scene)
    with pytest.raises(ModuleError, match=r"a.npy has no georeference that could be that of scene.tif"):
        files.save("a.npy", np.zeros((40, 7)), like=scene)


def test_georeferences_go_from_netcdf_and_to_it(scene, tmp_path):
    """The first row of a NetCDF file is often the southern one: it stays the first one."""
    values = np.arange(12.0).reshape(3, 4)
    with netCDF4.Dataset("sea.nc", "w") as made:
        for axis, places in (("lat", (-10, 0, 10)), ("lon", (100, 105, 110, 115)), ("bounds", ())):
            made.createDimension(axis, len(places) or 2)
            if places:
                made.createVariable(axis, "f8", (axis,))[:] = places
        for name, axes in (
            ("lat_bounds", ("lat", "bounds")),
            ("sst", ("lat", "lon")),
            ("ice", ("lat", "lon")),
        ):
            made.createVariable(name, "f4", axes)[:] = 1
    for file, like in (("a.nc", "sea.nc"), ("b.tif", "a.nc"), ("c.nc", "b.tif"), ("d.tif", "sea.nc")):
        files.save(file, values, like=like)
    for file in ("b.tif", "d.tif"):
        with rasterio.open(file) as made:
            assert (made.crs.to_epsg(), made.transform) == (4326, rasterio.Affine(5, 0, 97.5, 0, 10, -15))
            np.testing.assert_array_equal(made.read(1), values)
    for file in ("a.nc", "c.nc"):
        with netCDF4.Dataset(file) as made:
            assert made["data"].dimensions == ("lat", "lon")
            assert made["lat"].units == "degrees_north"
            np.testing.assert_array_equal(made["lat"], (-10, 0, 10))
            np.testing.assert_array_equal(made["lon"], (100, 105, 110, 115))
            np.testing.assert_array_equal(made["data"], values)
    files.save("bands.nc", BANDS, like=scene)
    files.save("bands.tif", BANDS, like="bands.nc")
    with netCDF4.Dataset("bands.nc") as made, rasterio.open("bands.tif") as again:
        assert made["data"].dimensions == ("axis0", "y", "x")
        assert made["data"].grid_mapping == "crs"
        assert (again.crs, again.transform) == (rasterio.CRS.from_epsg(32725), PLACE["transform"])
    with pytest.raises(ModuleError, match=r"d.tif can't lie where sea.nc lies: that has 3 × 4 cells"):
        files.save("d.tif", np.zeros((4, 4)), like="sea.nc")
    files.save("bare.nc", values)
    with pytest.raises(ModuleError, match=r"bare.nc has no coordinates .* no variable whose last two axes"):
        files.save("d.tif", values, like="bare.nc")
    with netCDF4.Dataset("sea.nc", "r+") as made:
        made["lat"][2] = 11
    with pytest.raises(ModuleError, match=r"sea.nc has no coordinates .* not evenly spaced"):
        files.save("d.tif", values, like="sea.nc")


def test_a_damaged_tile_is_named_with_its_band_and_window(scene):
    with rasterio.open(scene) as content:
        place = int(content.get_tag_item("BLOCK_OFFSET_0_2", "TIFF", bidx=1))
    with open(scene, "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 16)
    whole = files.ArrayFile(scene, BANDS.shape, BANDS.dtype)
    with files.loaded(whole) as stored:
        np.testing.assert_array_equal(stored[0:3, 0:16, 0:7], BANDS[:, :16])
    with (
        pytest.raises(ModuleError, match=r"rows 10 to 29 and columns 0 to 6 of band 1, 2: ") as caught,
        files.loaded(whole) as stored,
    ):
        stored[0:2, 10:30, 0:7]
    assert caught.value.message.startswith("scene.tif can't be read in")
    assert "fetch it anew" in caught.value.help


def test_variables_are_loaded_by_name_as_they_are_stored_or_as_the_reals_that_they_stand_for(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with netCDF4.Dataset("sea.nc", "w", format="NETCDF3_CLASSIC") as made:
        made.createDimension("lat", 4)
        made.createVariable("lat", "f4", ("lat",))[:] = 5
        for name in ("sst", "ice"):
            made.createVariable(name, "i2", ("lat",), fill_value=-4).scale_factor = 0.01
            made[name].set_auto_scale(False)
            made[name][:] = [1, 2, 3, -4]
    for element, expected in ((np.int32, [1, 2, 3, -4]), (np.float32, [0.01, 0.02, 0.03, np.nan])):
        values = np.empty(4, element)
        files.load_into("sea.nc", values, "sst")
        np.testing.assert_array_equal(values, np.array(expected, element))
    with pytest.raises(ModuleError, match=r"holds int16\[4\]; the program expects uint8\[4\]"):
        files.load_into("sea.nc", np.empty(4, np.uint8), "sst")
    with pytest.raises(ModuleError, match="has no variable `data`; it holds: sst, ice") as caught:
        files.load_into("sea.nc", values)
    assert caught.value.help == 'name one of them:  load("sea.nc", "sst")'


@pytest.mark.parametrize(
    ("file", "array", "message", "help"),
    [
        ("a.tif", np.zeros(3), r"a.tif: float64\[3\] is no picture", ""),
        ("a.nc", np.zeros(3, complex), "a.nc: NetCDF has no elements of type complex128", "part apart"),
        ("a.nc", np.zeros(3, bool), "a.nc: NetCDF has no elements of type bool", "^save it as .npy$"),
    ],
)
def test_what_a_format_does_not_have_is_refused(tmp_path, monkeypatch, file, array, message, help):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleError, match=message) as caught:
        files.save(file, array)
    assert re.search(help, caught.value.help or "")
    assert not list(tmp_path.iterdir())


def test_names_are_for_files_that_have_some(tmp_path):
    files.save(str(tmp_path / "a.npy"), np.zeros(3))
    with pytest.raises(ModuleError, match=r"a.npy has one array, without names: there is no `x`"):
        files.load_into(str(tmp_path / "a.npy"), np.zeros(3), "x")
    files.save(str(tmp_path / "a.raw"), np.zeros(3))
    with pytest.raises(ModuleError, match=r"a.raw has 24 bytes; what the program expects has 32"):
        files.load_into(str(tmp_path / "a.raw"), np.zeros(4))
