"""What an emulated cluster needs of the machine, and the words for what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from pse.errors import UsageError

_PLACES = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin:/usr/bin:/bin"
_PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "taskset": "util-linux",
    "mount": "mount",
}
"""The programs that are used, and the Debian package of each."""


def unmet_prerequisite() -> str | None:
    """Say why there can be no emulated cluster here.

    Namespaces may still be refused by a container: that is seen only when they are made.

    Returns
    -------
    str or None
        What is missing, and what to do about it; None if nothing is.

    Examples
    --------
    >>> missing = unmet_prerequisite()  # Why there can be no cluster; None where there can.
    """
    try:
        check_prerequisites()
    except UsageError as error:
        return f"{error.message} ({error.help})"
    return None


def check_prerequisites() -> None:
    """Make sure that this is Linux, that we are root, and that the programs are there.

    Raises
    ------
    UsageError
        If not.
    """
    if sys.platform != "linux":
        raise UsageError(
            "an emulated cluster needs Linux",
            help=f"this is {sys.platform}: use a virtual machine with Linux",
        )
    if os.geteuid() != 0:
        raise UsageError(
            "an emulated cluster needs root: it makes network namespaces, links and control groups",
            help="run it as root (sudo), or in a virtual machine of your own",
        )
    missing = [name for name in _PACKAGES if find_program(name) is None]
    if missing:
        packages = " ".join(sorted({_PACKAGES[name] for name in missing}))
        raise UsageError(
            f"an emulated cluster needs {', '.join(missing)}",
            help=f"install what is missing: apt-get install {packages}",
        )


def find_program(program: str) -> str | None:
    """Find a program, also where only root looks."""
    return shutil.which(program, path=_PLACES)


def run_program(program: str, *arguments: str, text: str = "") -> str:
    """Run a program and give what it prints.

    Raises
    ------
    Refused
        If it fails, or isn't there.
    """
    found = find_program(program)
    if found is None:
        raise Refused([program, *arguments], "there is no such program")
    done = subprocess.run([found, *arguments], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused([program, *arguments], done.stderr)
    return done.stdout


class Refused(UsageError):
    """The system refused something that a cluster needs."""

    def __init__(self, command: Sequence[str], words: str) -> None:
        self.words = " ".join(words.split())
        super().__init__(
            f"the system refused `{' '.join(command)}`: {self.words}",
            help="run it in a privileged container, or in a virtual machine",
        )
