"""Why ranks waited: wait states, causes and chains of waits, the critical path, the history of a TPH."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
