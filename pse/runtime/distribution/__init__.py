"""Distributed arrays: index sets, strided copies, and where partitions live."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
