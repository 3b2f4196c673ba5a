"""The trace format: event records, codes, and definitions of what their numbers mean."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
