"""How modules are built: for speed, or to be debugged."""

from __future__ import annotations

from typing import Final

from pse.records import dataclass

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
    sanitize : tuple of str
        The sanitizers that modules are built with; they bring what `debug` does.

    Examples
    --------
    >>> BuildMode(debug=True).flags[0]
    '-O1'
    """

    debug: bool = False
    sanitize: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of C, C++, Fortran and Cython modules."""
        debugged = _DEBUG_FLAGS if self.debug or self.sanitize else _FAST_FLAGS
        return (*debugged, *self.sanitizers)

    @property
    def sanitizers(self) -> tuple[str, ...]:
        """The flags of sanitizers, for compiling and linking."""
        if not self.sanitize:
            return ()
        return (f"-fsanitize={','.join(self.sanitize)}", "-fno-sanitize-recover=all")


FAST: Final = BuildMode()
"""The mode of runs that aren't debugged."""
