"""What users install: a wheel, built in an isolated environment from a clean copy of the sources."""

import fnmatch
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from pse_testing.sharing import made_once

from pse._proc import STAND_IN
from pse.toolstack import _shipped as shipped

pytestmark = pytest.mark.timeout(1800)  # Whichever test comes first waits for the build.
ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "-q"]


@pytest.fixture(scope="module")
def project():
    """Read pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def build_tools(project, tmp_path_factory):
    """Download what the build asks for, so that a missing network is told apart from a broken build."""
    directory = tmp_path_factory.mktemp("tools")
    requirements = [*project["build-system"]["requires"], "cmake>=3.24", "ninja"]
    download = subprocess.run(
        [*PIP, "download", "-d", directory, *requirements], capture_output=True, text=True
    )
    if download.returncode:
        pytest.skip(f"no package index within reach: {download.stderr.strip().splitlines()[-1]}")
    return directory


@pytest.fixture(scope="module")
def wheel(build_tools, tmp_path_factory):
    """Build the wheel of a clean copy of the sources, with only the downloaded tools."""
    return made_once("wheel", lambda: build(build_tools, tmp_path_factory))


def build(build_tools, tmp_path_factory):
    """Build it as pip does, but without optimising: `make ext` has compiled the same with optimisation."""
    source = tmp_path_factory.mktemp("source") / "pse"
    for directory in ("pse", "cext"):
        shutil.copytree(
            ROOT / directory,
            source / directory,
            ignore=shutil.ignore_patterns("*.so", "__pycache__", STAND_IN),
        )
    for file in [*ROOT.glob("*.toml"), *ROOT.glob("*.md"), ROOT / "LICENSE"]:
        shutil.copy(file, source)
    target = tmp_path_factory.mktemp("wheel")
    isolated = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    defined = [f"cmake.define.CMAKE_{language}_FLAGS=-DNDEBUG" for language in ("C", "CXX")]
    settings = ("cmake.build-type=None", *defined)
    quickly = [word for setting in settings for word in ("--config-settings", setting)]
    command = [*PIP, "wheel", *quickly, "--no-deps", "--no-index", "--find-links", build_tools]
    command += ["-w", target, source]
    built = subprocess.run(command, env=isolated, capture_output=True, text=True, timeout=1500)
    assert built.returncode == 0, built.stdout + built.stderr
    [path] = target.glob("pse-*.whl")
    return path


@pytest.mark.slow
def test_all_that_is_not_compiled_is_in_a_wheel(project, tmp_path):
    # The wheel that users install is compiled again by nightly tests.
    quickly = ["--no-build-isolation", "--no-deps", "--config-settings", "wheel.cmake=false"]
    subprocess.run([*PIP, "wheel", *quickly, "-w", tmp_path, ROOT], check=True, timeout=120)
    [path] = tmp_path.glob("pse-*.whl")
    kinds = ("*.py", "*.pyi", "*.js", "*.css", "*.html", "*.md", "*.coven", "*.toml", "*.lark")
    found = {str(one.relative_to(ROOT)) for kind in kinds for one in (ROOT / "pse").rglob(kind)}
    excluded = project["tool"]["scikit-build"]["wheel"]["exclude"]
    expected = {name for name in found if not any(fnmatch.fnmatch(name, pattern) for pattern in excluded)}
    assert expected
    assert not expected - names(path)


def names(wheel):
    """List the files in the wheel's package."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("pse/")}


@pytest.mark.nightly
def test_wheel_holds_every_python_file_and_extension(wheel):
    package = ROOT / "pse"
    expected = {str(path.relative_to(ROOT)) for suffix in ("*.py", "*.pyi") for path in package.rglob(suffix)}
    expected |= {str(path.relative_to(ROOT)) for path in package.rglob("*.so")}
    assert expected <= names(wheel)


@pytest.mark.nightly
def test_wheel_holds_what_stands_for_ranks_and_it_can_be_executed(wheel):
    [entry] = [entry for entry in zipfile.ZipFile(wheel).infolist() if entry.filename.endswith(STAND_IN)]
    assert entry.filename == f"pse/runtime/launch/{STAND_IN}"
    assert entry.external_attr >> 16 & 0o111 == 0o111


@pytest.mark.nightly
def test_wheel_holds_nothing_for_builders_only(wheel):
    assert not [name for name in names(wheel) if name.endswith((".pxd", ".pyx"))]


@pytest.mark.nightly
def test_wheel_holds_the_c_files_that_are_built_at_run_time_and_no_others(wheel):
    package = ROOT / "pse"
    expected = {str(path.relative_to(ROOT)) for suffix in ("*.c", "*.h") for path in package.rglob(suffix)}
    assert "pse/bench/programs/hop.c" in expected
    # What tools of the tool stack are made of, for any MPI.
    tools = ROOT / "cext" / "toolstack" / "tools"
    sources = {path.relative_to(tools) for suffix in ("*.c", "*.h") for path in tools.rglob(suffix)}
    sources |= {Path("backoff", name) for name in ("backoff.c", "backoff.h", "clock.c", "clock.h")}
    sources |= {Path("recorder", name) for name in shipped.RECORDER}
    sources |= {Path("abi/include", name) for name in shipped.TABLES}
    sources |= {Path("elf", name) for name in shipped.ELF} | {Path("coschedule/c_engine.h")}
    expected |= {f"pse/toolstack/tools/source/{path}" for path in sources}
    assert {name for name in names(wheel) if name.endswith((".c", ".h", ".cpp"))} == expected


@pytest.mark.nightly
def test_wheel_carries_no_path_of_its_build(wheel, build_tools):
    archive = zipfile.ZipFile(wheel)
    places = [os.fsencode(ROOT), os.fsencode(build_tools.parent), b"/pip-"]
    assert not [
        name
        for name in names(wheel)
        if name.endswith(".so") and any(place in archive.read(name) for place in places)
    ]


@pytest.mark.nightly
def test_installed_wheel_works_without_the_source_tree(wheel, tmp_path):
    subprocess.run(
        [*PIP, "install", "--no-deps", "--no-index", "--target", tmp_path / "site", wheel], check=True
    )
    every_module = (
        "import importlib, pkgutil, sys; sys.prefix = sys.exec_prefix = sys.argv.pop(); import site\n"
        "sys.path[:0] = sys.argv[1:]; import pse\n"
        "assert pse.__file__.startswith(sys.argv[1]), pse.__file__\n"
        "import mpi4py; mpi4py.rc.initialize = False\n"
        "for module in pkgutil.walk_packages(pse.__path__, 'pse.'):\n"
        "    if module.name.rpartition('.')[2] != '__main__': importlib.import_module(module.name)\n"
    )
    # Without what `site` does (-S) the editable install in this environment doesn't come first.  But mpi4py
    # asks `site` below which folder the MPI library lies: that is the last argument.
    places = [tmp_path / "site", sysconfig.get_path("purelib"), sys.prefix]
    command = [sys.executable, "-I", "-S", "-c", every_module, *map(str, places)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_build_requirements_need_no_mpi(project):
    assert not [need for need in project["build-system"]["requires"] if "mpi" in need]


@pytest.mark.nightly
def test_wheel_is_of_the_version_that_the_command_reports(pse, wheel):
    assert wheel.name.startswith(f"pse-{pse('--version').out.split()[-1]}-")
