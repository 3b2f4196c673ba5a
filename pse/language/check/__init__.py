"""From the syntax tree to a checked program: names, types, shapes, distributions, dataflow."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
