"""ACE, the application communication emulator, for users of Python: the names of the room `pse.emulate`."""

from pse import emulate as _room

__getattr__, __dir__, __all__ = _room.__getattr__, _room.__dir__, _room.__all__
