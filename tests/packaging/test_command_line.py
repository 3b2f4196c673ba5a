"""The command `pse` itself, whatever commands there are."""

import re

import pytest

from pse import __version__


def command_file(directory, name, text):
    """Add the file of one command to those of the package; return the environment in which it is found."""
    directory.joinpath("sitecustomize.py").write_text(
        f"import pse.cli\npse.cli.__path__.append({str(directory / 'commands')!r})\n"
    )
    directory.joinpath("commands").mkdir()
    directory.joinpath("commands", f"{name}.py").write_text(text + "\n")
    return {"PYTHONPATH": str(directory)}


def test_the_option_version_prints_the_version_of_the_package(pse):
    finished = pse("--version")
    assert (finished.code, finished.out.strip()) == (0, f"pse, version {__version__}")


def test_help_lists_commands(pse):
    finished = pse("--help")
    assert finished.code == 0
    assert "Usage: pse" in finished.out


@pytest.mark.parametrize("arguments", [("no-such-command",), ("--no-such-option",), ("__init__",)])
def test_wrong_command_line_is_exit_code_2_without_traceback(pse, arguments):
    finished = pse(*arguments)
    assert finished.code == 2
    assert re.search(r"there is no command|No such option", finished.err)
    assert "Traceback" not in finished.out + finished.err


def test_command_with_missing_import_gives_one_line(pse, tmp_path):
    environment = command_file(tmp_path, "needy", "import a_package_that_is_not_there")
    finished = pse("needy", "--option", "file", env=environment)
    assert finished.code == 1
    assert finished.err == (
        "Error: `pse needy` is not available here: No module named 'a_package_that_is_not_there'\n"
    )
    assert pse("--help", env=environment).code == 0


def test_commands_are_imported_only_when_used(pse, tmp_path):
    environment = command_file(tmp_path, "loud", "raise SystemExit('imported')")
    assert pse("--version", env=environment).code == 0
    assert pse("loud", env=environment).err == "imported\n"
