"""BCS-MPI, globally scheduled communication, for users of Python: the names of the room `pse.coschedule`."""

from pse import coschedule as _room

__getattr__, __dir__, __all__ = _room.__getattr__, _room.__dir__, _room.__all__
