"""The program graph: thread placement, liveness of tags, and the graph itself.

Everything here is a pure function of a `pse.language.check.ResolvedProgram`; nothing is run.  `place_threads`
says which ranks there are, `number_statements` numbers the statements, `analyse_liveness` says who reads what
and until when, `analyse_run_liveness` also what can wait until a loop ends: every rank imports these.
`build_graph` needs networkx, which is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
