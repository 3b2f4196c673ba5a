"""The language server: programs and module sources in every editor that speaks the Language Server Protocol.

It has no knowledge of the language of its own: diagnostics, types and modules are the checker's
(`pse.language`), threads those of `pse.program`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
