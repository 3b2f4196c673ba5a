"""The command that makes a process a rank of a launch, and the file that tells it what to measure."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pse.emulate.configuration._configuration import Configuration
from pse.emulate.patterns._lookup import load_patterns
from pse.files import explained


def launch_command(configuration: Configuration, directory: Path, launch: int = 0) -> tuple[list[str], Path]:
    """Prepare a launch.

    Parameters
    ----------
    configuration : Configuration
        What is measured; it isn't checked again.
    directory : Path
        The ranks read the configuration there, and the first one writes the results there.
    launch : int, default 0
        Its number: the order of settings depends on it.

    Returns
    -------
    tuple of list of str and Path
        What all ranks of an MPI job have to execute, and where the results will be.

    Raises
    ------
    UsageError
        The directory can't be written to.

    Examples
    --------
    >>> halo = pse.ace.Application("halo", "pairwise", 2, sizes=(1024,), loads=(50.0,))
    >>> launch_command(pse.ace.Configuration((halo,), ranks=2), Path("."))[1]
    PosixPath('0.ace')
    """
    asked, target = directory / "configuration.json", directory / f"{launch}.ace"
    with explained(asked):
        asked.write_text(json.dumps(configuration.to_json()), encoding="utf-8")
    return [sys.executable, "-P", "-m", "pse.emulate.job", str(asked), str(launch), str(target)], target


def prepared_configuration(path: Path) -> Configuration:
    """Read the configuration of a launch, and the files of its patterns."""
    found = Configuration.from_json(json.loads(path.read_text(encoding="utf-8")))
    for file in found.pattern_files:
        load_patterns(file)
    return found
