"""From a module reference to an address or a Python callable, and calls of Python modules."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
