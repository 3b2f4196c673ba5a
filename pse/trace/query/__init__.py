"""Tables of a trace: calls, messages, waits, MPI, TPHs; selections and data frames."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
