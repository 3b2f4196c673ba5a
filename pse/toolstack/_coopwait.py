"""`coopwait` under a job's ranks, which have MPI loaded: each finds and prepares it, then all or none go on.

What may fail does so before anything changes for the program, so that ranks can agree in between; `runtime`,
which may not know this room, is handed a `Coopwait`.  Touches the cache, and the process when it prepares.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import warnings
from importlib import resources

from pse.errors import RunError
from pse.toolstack._library import library
from pse.toolstack._mpi import find_mpi, loaded_mpi

_CONFIGURATIONS = {"auto": "coopwait.conf", "bcs": "bcs.conf"}
"""By the run's option `transport`."""


class Coopwait:
    """The tool `coopwait`, or `bcs`, for this process, or for those that it starts.

    See Also
    --------
    environment
    """

    def make(self) -> None:
        """Make the object for the MPI that ranks will load, if it can be: nodes may have no compiler."""
        with contextlib.suppress(Exception), _no_shims_needed():  # Ranks will say it.
            library(find_mpi())

    def find(self) -> str:
        """Give the path of the object with the stack for the MPI that is loaded; make it if need be.

        Returns
        -------
        str
            The path, for `prepare`.

        Raises
        ------
        PseError
            If there can be none here.
        """
        with _no_shims_needed():
            return str(library(loaded_mpi()))

    def prepare(self, path: str, transport: str) -> None:
        """Load everything; calls of MPI still go straight to the library.

        Parameters
        ----------
        path : str
            The object that `find` gave.
        transport : str
            The run's option: ``bcs`` for the tool of that name, ``auto`` for `coopwait`.

        Raises
        ------
        RunError
            If the tool can't be had in this process.
        """
        try:
            # What is loaded later finds its MPI here first.
            self._object = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise RunError(
                f"{path} can't be loaded: {error}",
                help="give --tools off: modules then wait as MPI does",
            ) from None
        prepare = self._object.pse_toolstack_prepare
        prepare.restype = ctypes.c_char_p
        configuration = resources.files("pse.toolstack") / _CONFIGURATIONS[transport]
        if why := prepare(os.fsencode(str(configuration))):
            raise RunError(os.fsdecode(why), help="give --tools off: modules then wait as MPI does")

    def engage(self) -> None:
        """Have all calls of MPI go through the tool."""
        self._object.pse_toolstack_engage()


def _no_shims_needed() -> contextlib.AbstractContextManager[object]:
    """Say nothing about shims that can't be made: the tool knows large counts itself."""
    return warnings.catch_warnings(action="ignore")
