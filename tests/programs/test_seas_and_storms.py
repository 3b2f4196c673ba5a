"""`programs/scenes` with sequences of fields: temperatures of a sea, tracks of storms."""

import csv
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python
from pse.modules.std import _files as files

rasterio = pytest.importorskip("rasterio", reason="rasterio (extra pse[scenes]) is not installed")
netCDF4 = pytest.importorskip("netCDF4", reason="netCDF4 (extra pse[scenes]) is not installed")
pytest.importorskip("pyproj", reason="pyproj (extra pse[scenes]) is not installed")

# Modules ignore it while they open a file; ranks are threads here, and Python has one set of filters for all.
pytestmark = pytest.mark.filterwarnings("ignore:Dataset has no geotransform")

FOLDER = Path(__file__).parents[2] / "programs" / "scenes"
ROWS, COLUMNS, DAYS = 30, 44, 2


@pytest.fixture(autouse=True)
def _in_directory_of_test(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def modules(name):
    """Import a file of modules as a run does."""
    return import_python(str(FOLDER / name), name)


def carry_out(program, processors=1, **values):
    """Run a program in the current directory, all ranks as threads of this process."""
    compiled = compile_program((FOLDER / program).read_text(), FOLDER / program)
    run(make_job(compiled, processors, values=values))


def place_of(file, rows, columns):
    """Make a GeoTIFF that lies where a NetCDF file does: ranks that are threads share netCDF4's library."""
    like = f"like-{rows}-{columns}.tif"  # The modules remember what was read of a name.
    files.save(like, np.zeros((rows, columns)), like=str(file))
    return like


def bands(file):
    """Read a picture."""
    with warnings.catch_warnings(action="ignore"), rasterio.open(file) as content:
        return content.read()


def test_mean_and_differences_of_a_sea_are_those_of_what_its_days_show(capfd):
    sea, size = modules("generate_sea.py"), {"rows": ROWS, "columns": COLUMNS}
    sea.generate("sea", DAYS, **size)
    days = np.array([sea.truth(day, **size) for day in range(DAYS)])
    count = np.isfinite(days).sum(axis=0)
    total = np.nansum(days, axis=0, dtype=float)
    mean = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0).astype(np.float32)
    where = {"like": place_of("sea/day-00.nc", **size), "scenes": DAYS, "pieces": 3, **size}
    for processors, results in ((1, "one"), (2, "two"), (3, "three")):
        carry_out("temperature.coven", processors, **where, results=results)
        np.testing.assert_array_equal(bands(f"{results}-mean.tif")[0], mean)
        for day, shown in enumerate(days):
            np.testing.assert_array_equal(bands(f"{results}-{day}.tif")[0], shown - mean)
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("mean of 2 days: ")
    assert lines == lines[: 1 + DAYS] * 3, "printed means depend on the number of processors"
    assert (np.isnan(mean) & ~sea.is_land(**size)).any(), "some day shows each cell of the sea"
    with rasterio.open("one-mean.tif") as made:
        assert made.crs.to_epsg() == 4326
        assert made.xy(0, 0) == pytest.approx((180 / COLUMNS, -90 + 90 / ROWS)), "the first row is southern"
    nothing = (bands("one-mean.png") == modules("temperature.py").NOTHING).all(axis=0)
    np.testing.assert_array_equal(nothing[::-1], np.isnan(mean))


def test_a_real_sea_has_its_published_mean_and_goes_to_netcdf(capfd):
    like = str(FOLDER / "data" / "reduced.nc")
    where = {"folder": like, "like": place_of(like, 90, 180), "scenes": 1}
    carry_out("temperature.coven", **where, format=".nc")
    assert "mean of 1 days: 12.99408" in (said := capfd.readouterr().out)
    assert "in 11752 cells" in said
    with netCDF4.Dataset("sst-mean.nc") as made, netCDF4.Dataset(like) as source:
        np.testing.assert_array_equal(made["lat"], source["lat"])
        np.testing.assert_array_equal(made["lon"], source["lon"])
        assert np.nanmean(made["data"][...].data, dtype=float) == pytest.approx(12.99408, abs=5e-6)
    message = r"sst in .*reduced.nc has 1 times; pass  -D scenes=1"
    with pytest.raises(ValueError, match=message):
        modules("read.py").field_of(like, 0, 2, "sst")
    with pytest.raises(ValueError, match=r"has no variable tos; it has .*sst"):
        modules("read.py").field_of(like, 0, 1, "tos")


def tracks(file):
    """Read tracks: their rows of hours, longitude and latitude."""
    found = {}
    with open(file, newline="") as opened:
        for row in csv.DictReader(opened):
            place = [float(row[name]) for name in ("hours", "longitude", "latitude")]
            found.setdefault(int(row["track"]), []).append(place)
    return [np.array(track) for track in found.values()]


def test_storms_are_followed_on_the_paths_that_they_took():
    generator = modules("generate_storms.py")
    generator.generate("storms.nc")
    for processors in (1, 2, 3):
        carry_out("storms.coven", processors, pieces=3, results=f"with-{processors}")
    written = {Path(f"with-{processors}.csv").read_bytes() for processors in (1, 2, 3)}
    assert len(written) == 1, "tracks depend on the number of processors"
    cell = np.array([generator.HOURS, 180 / generator.ROWS, 360 / generator.COLUMNS])
    planted = []
    for path in generator.paths():
        hours, latitude, longitude = (path * cell + (0, cell[1] / 2 - 90, cell[2] / 2)).T
        planted.append(np.stack([hours, longitude, latitude], axis=1))
    found = tracks("with-1.csv")
    expected = sorted((path for path in planted if len(path) > 1), key=lambda path: path[0, 0])
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    picture, row = bands("with-2.png"), generator.ROWS - 1 - 31
    assert not picture[:, row, 52].any(), "the end of the first track is not drawn"
    assert picture.reshape(3, -1).any(axis=0).mean() > 0.9


def test_highest_places_are_found_beside_missing_cells_and_storms_that_jump_are_others():
    storms = modules("storms.py")
    field = np.zeros((7, 9), np.float32)
    field[3, 2], field[3, 3], field[4, 2] = 5, 5, np.nan  # Of two equal cells the first one counts.
    field[0, 8] = 7
    field[2, 6] = 1
    for beyond in (0x42C60000, 0x7F800001):  # 99, and a NaN whose use is told: neither counts, or is used
        padded = np.pad(field, ((2, 2), (0, 0)))
        padded[:2].view(np.uint32)[:] = padded[-2:].view(np.uint32)[:] = beyond
        with np.errstate(all="raise"):
            found = storms.centres(padded, np.arange(7), 7, 2, 0.5, True)
        assert found.tolist() == [[0, 8, 7], [3, 2, 5]]
        assert not len(storms.centres(padded[:4], np.arange(0), 7, 2, 0.5, True))
    sea = modules("generate_sea.py")
    sea.generate("sea", 1, 18, 36)
    track = storms.link(found, storms.begin(), 0, "sea/day-00.nc", 2000)
    moved = np.array([[3.0, 3, 6], [9, 20, 7]])
    track = storms.link(moved, track, 1, "sea/day-00.nc", 2000)
    assert track[:, :2].tolist() == [[0, 0], [1, 0], [1, 1], [2, 1]]
    assert storms.write_tracks("t.csv", track, 2, "sea/day-00.nc", 6) == 1
    assert re.findall(r"(?m)^0,(.*)$", Path("t.csv").read_text()) == [
        "0,25.0000,-55.0000,5",
        "6,35.0000,-55.0000,6",
    ]
