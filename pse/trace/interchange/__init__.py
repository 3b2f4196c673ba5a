"""Traces for other tools, and other tools' traces: OTF2 both ways, Chrome's JSON one way."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
