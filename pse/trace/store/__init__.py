"""The files of a trace: directories, mapped event files, and what is wrong with them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
