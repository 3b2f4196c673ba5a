"""Processes of a job: who watches them, how they end, what is cleaned up."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
