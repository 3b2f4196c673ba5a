"""Traces for other tools, and other tools' traces: OTF2 both ways, Chrome's JSON one way.

May touch: the output that it is told to write.  Next rooms: ``otf2_writer.py``, ``otf2_reader.py``,
``chrome.py``.
"""

from pse.trace.exports.chrome import export_chrome
from pse.trace.exports.otf2_reader import import_otf2
from pse.trace.exports.otf2_writer import export_otf2
from pse.trace.exports.progress import Progress

__all__ = ["Progress", "export_chrome", "export_otf2", "import_otf2"]
