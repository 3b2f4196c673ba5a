"""What is wrong with a program: places in its text, stable codes, and how diagnostics are printed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
