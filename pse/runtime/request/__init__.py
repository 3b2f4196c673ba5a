"""Requests: what a command line asks for, checked the same way by the launcher and all ranks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
