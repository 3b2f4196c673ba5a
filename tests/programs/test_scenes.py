"""The remote-sensing programs: what was planted is found, and published figures of real scenes come out."""

from pathlib import Path

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

rasterio = pytest.importorskip("rasterio", reason="rasterio (extra pse[scenes]) is not installed")
pytest.importorskip("pyproj", reason="pyproj (extra pse[scenes]) is not installed")

# Modules ignore it while they open a file; ranks are threads here, and Python has one set of filters for all.
pytestmark = pytest.mark.filterwarnings("ignore:Dataset has no geotransform")

FOLDER = Path(__file__).parents[2] / "programs" / "scenes"
DATA = FOLDER / "data"
ROWS, COLUMNS, SCENES = 160, 192, 4


def modules(name):
    """Import a file of modules as a run does."""
    return import_python(str(FOLDER / name), name)


def carry_out(program, processors=1, **values):
    """Run a program in the current directory, all ranks as threads of this process."""
    compiled = compile_program((FOLDER / program).read_text(), FOLDER / program)
    run(make_job(compiled, processors, values=values))


def stored(file, band=1):
    """Read a band with rasterio."""
    with rasterio.open(file) as content:
        return content.read(band)


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """Generate scenes; gives the generator and their folder."""
    folder, generator = tmp_path_factory.mktemp("scenes"), modules("generate.py")
    generator.generate(folder / "scenes", SCENES, ROWS, COLUMNS, seed=3)
    return generator, folder / "scenes"


@pytest.fixture
def damaged(generated, tmp_path, monkeypatch):
    """Copies of the scenes in the directory of the test, which may be damaged."""
    (tmp_path / "scenes").mkdir()
    for file in generated[1].iterdir():
        (tmp_path / "scenes" / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path / "scenes"


def truth(generator):
    """Give the index of the land in the grid, and which cells each day shows clearly."""
    margin, size = generator.MARGIN, (ROWS + 2 * generator.MARGIN, COLUMNS + 2 * generator.MARGIN)
    middle = (slice(margin, -margin), slice(margin, -margin))
    y, x = np.mgrid[:ROWS, :COLUMNS]
    clear = []
    for day, (down, right) in enumerate(generator.SHIFTS[:SCENES]):
        shown = (y + down >= 0) & (y + down < ROWS) & (x + right >= 0) & (x + right < COLUMNS)
        clear.append(shown & ~generator.clouds(day, *size, 3)[middle])
    return generator.index(generator.land(*size, 3))[middle], np.array(clear)


def test_the_composite_has_the_clear_cells_of_displaced_and_cloudy_scenes(generated, tmp_path, monkeypatch):
    generator, folder = generated
    monkeypatch.chdir(tmp_path)
    grid = {"folder": str(folder), "like": str(folder / "scene-00.tif"), "rows": ROWS, "columns": COLUMNS}
    carry_out("vegetation.coven", 2, **grid, scenes=SCENES, days=2, patch=128)
    index, clear = truth(generator)
    for period, shown in enumerate(clear.reshape(2, 2, ROWS, COLUMNS).any(axis=1)):
        found = stored(f"ndvi-{period}.tif")
        np.testing.assert_array_equal(found, np.where(shown, index, np.float32(np.nan)))
    assert 0.5 < shown.mean() < 0.98, "the second composite has no clear day"
    with rasterio.open("ndvi-0.tif") as made, rasterio.open(grid["like"]) as scene:
        assert (made.crs, made.transform, made.dtypes) == (scene.crs, scene.transform, ("float32",))
    looks = [stored("ndvi-1.png", channel) for channel in (1, 2, 3)]
    np.testing.assert_array_equal((np.array(looks) == 255).all(axis=0), ~shown)
    forest = shown & (index > 0.6)
    assert (looks[1][forest] > looks[0][forest]).all(), "dense vegetation isn't green"


def test_shifts_are_found_exactly(generated):
    generator, folder = generated
    read, like = modules("read.py"), str(folder / "scene-00.tif")
    for day, shift in enumerate(generator.SHIFTS[:SCENES]):
        np.testing.assert_array_equal(read.register(str(folder), day, SCENES, "red", like, 128), [shift])
    assert generator.SHIFTS[1].tolist() == [7, -12]


def test_landsat_has_its_published_index(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "scene.tif").symlink_to(DATA / "L7_ETMs.tif")
    bands = {"red": "3", "infrared": "4", "bright": 255}
    size = {"rows": 352, "columns": 349, "scenes": 1, "days": 1, "patch": 0}
    carry_out("vegetation.coven", folder="one", like="one/scene.tif", **bands, **size)
    assert stored("ndvi-0.tif").mean(dtype=float) == pytest.approx(-0.06432463748948, abs=1e-8)


def test_damaged_and_foreign_scenes_are_named_and_left_out_while_others_go_on(damaged, capfd):
    read, names = modules("read.py"), [f"scenes/scene-{day:02d}.tif" for day in range(SCENES)]
    grid = read.grid_of(names[0])
    rows, columns = np.arange(ROWS), np.arange(COLUMNS)
    with rasterio.open(names[1]) as content:
        place = int(content.get_tag_item("BLOCK_OFFSET_1_1", "TIFF", bidx=2))
    with open(names[1], "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 64)
    Path(names[2]).write_bytes(Path(names[2]).read_bytes()[:500])
    assert np.isfinite(read.window(names[1], "nir", grid, rows[:100], columns)).all()
    found = read.window(names[1], "nir", grid, rows, columns)
    assert np.isnan(found[128:, 128:]).all()
    assert np.isfinite(found[:128]).all()
    assert np.isfinite(found[:, :128]).all()
    assert np.isnan(read.window(names[2], "nir", grid, rows, columns)).all()
    assert np.isnan(read.window(names[3], "green", grid, rows, columns)).all()
    said = capfd.readouterr().err
    assert f"{names[1]}: band nir is damaged in rows 128 to 159 and columns 128 to 191, which are" in said
    assert "fetch it anew" in said
    assert f"{names[2]}: rows 0 to 159 of the grid are left out:" in said
    assert (
        f"{names[3]}: rows 0 to 159 of the grid are left out: there is no band green; it has red, nir" in said
    )
    noise = np.random.default_rng(1).integers(200, 9000, (2, ROWS, COLUMNS)).astype(np.uint16)
    modules("generate.py").write(names[3], noise, 3)
    assert np.isnan(read.register("scenes", 3, SCENES, "red", names[0], 128)).all()
    assert f"{names[3]}: the scene is left out: it looks too little like {names[0]}" in capfd.readouterr().err
    assert np.isnan(read.register("scenes", 2, SCENES, "red", names[0], 128)).all()
    assert "looks too little" not in capfd.readouterr().err  # That it can't be read is said.
    with pytest.raises(ValueError, match=f"{names[0]} has nothing in band green to register scenes to"):
        read.register("scenes", 3, SCENES, "green", names[0], 128)
    Path("empty").mkdir()
    with pytest.raises(ValueError, match="empty has no scenes"):
        read.register("empty", 0, SCENES, "red", names[0], 128)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("scenes", 0, 9), r"scenes has 4 scenes \(.*\); pass  -D scenes=4"),
        (("nowhere", 0, 9), "there is no directory nowhere"),
    ],
)
def test_missing_scenes_are_told_with_what_to_do(damaged, arguments, words):
    with pytest.raises(ValueError, match=words):
        modules("read.py").scene_file(*arguments)


def test_a_grid_of_another_size_is_told_with_what_to_do(damaged):
    like, row = "scenes/scene-00.tif", np.arange(ROWS)
    with pytest.raises(ValueError, match="pass  -D rows=160 -D columns=192"):
        modules("read.py").read(
            "scenes", 0, "red", like, row, 99, np.zeros((SCENES, 2)), np.empty((ROWS, 99))
        )


def test_a_scene_of_another_projection_and_cell_size_comes_to_the_grid(damaged):
    """Each cell takes the nearest one: a picture of longitudes and latitudes gives these back."""
    read, generator = modules("read.py"), modules("generate.py")
    from pyproj import Transformer

    grid = read.grid_of("scenes/scene-00.tif")
    to_degrees = Transformer.from_crs(generator.PLACE["crs"], "EPSG:4326", always_xy=True)
    x = generator.PLACE["west"] + generator.PLACE["cell"] * (np.arange(COLUMNS) + 0.5)
    y = generator.PLACE["north"] - generator.PLACE["cell"] * (np.arange(ROWS) + 0.5)
    longitude, latitude = to_degrees.transform(*np.meshgrid(x, y))
    step = 0.0005
    west, north = longitude.min() - step, latitude.max() + step
    profile = {"height": 110, "width": 130, "count": 2, "dtype": "float64", "crs": "EPSG:4326"}
    place = rasterio.Affine(step, 0, west, 0, -step, north)
    degrees = np.meshgrid(west + step * (np.arange(130) + 0.5), north - step * (np.arange(110) + 0.5))
    with rasterio.open("degrees.tif", "w", driver="GTiff", transform=place, **profile) as made:
        made.write(np.array(degrees))
    for band, expected in (("1", longitude), ("2", latitude)):
        found = read.window("degrees.tif", band, grid, np.arange(ROWS), np.arange(COLUMNS))
        assert np.isfinite(found).all()
        assert np.abs(found - expected).max() <= step / 2 + 1e-5
