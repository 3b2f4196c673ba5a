"""Traces: what is recorded while a program runs, and how it is read.

Writing: `create` a directory, `write_definitions` once, one `Recorder` per rank.  Reading: `open` a
directory, take tables from the `Trace`, or `summarize` it.  ``docs/trace.md`` says what every record means;
the one table behind it is ``cext/abi/events.def``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
