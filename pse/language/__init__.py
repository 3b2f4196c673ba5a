"""The language of ``.coven`` programs: parse, check, bind, format.

A thin façade.  Inside, from the ground up: ``source``, ``expressions``, ``types``, ``diagnostics``;
``lexer`` and ``parser`` make the tree of ``syntax``; ``checker`` makes the ``resolved`` program out of it;
``binding`` gives parameters their values; ``formatter`` writes programs.  This room imports no other room of
pse.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
