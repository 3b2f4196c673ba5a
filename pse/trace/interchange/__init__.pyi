from ._chrome import export_chrome as export_chrome
from ._progress import Progress as Progress
from .otf2._reader import import_otf2 as import_otf2
from .otf2._writer import export_otf2 as export_otf2
