"""Module directives in source files, and the finder that reads them for the checker."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
