"""How modules are built: for speed, or to be debugged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Lines and inlined calls for the report of a crash.  addr2line up to binutils 2.40 gives wrong names for what
# is included where GCC writes DWARF 5.
_FAST_FLAGS: Final = ("-O3", "-march=native", "-fPIC", "-g1", "-gdwarf-4")
_DEBUG_FLAGS: Final = ("-O1", "-march=native", "-fPIC", "-g", "-gdwarf-4", "-fno-omit-frame-pointer")


@dataclass(frozen=True)
class BuildMode:
    """How modules are built; each mode has its own builds in the cache.

    Parameters
    ----------
    debug : bool
        Whether compilers optimise little and describe all variables, so that debuggers show what is written.

    Examples
    --------
    >>> BuildMode(debug=True).flags[0]
    '-O1'
    """

    debug: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of C, C++, Fortran and Cython modules."""
        return _DEBUG_FLAGS if self.debug else _FAST_FLAGS


FAST: Final = BuildMode()
"""The mode of runs that aren't debugged."""
