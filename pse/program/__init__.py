"""The program graph: thread placement, liveness of tags, the graph itself, and its pictures.

Everything here is a pure function of a `pse.language.check._ir.ResolvedProgram`; nothing is run.
`placement` says which ranks there are, `walk` numbers the statements, `liveness` says who reads what and
until when, `exits` what can wait until a loop ends: these are what every rank imports.  What only
``pse graph`` needs (networkx, and matplotlib for pictures) is imported on first use.  The room below is
``language``; ``runtime`` above projects a program onto its ranks by what is said here.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
