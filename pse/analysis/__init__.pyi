from ._critical_path import (
    CriticalPath as CriticalPath,
    Step as Step,
    critical_path as critical_path,
    shares as shares,
)
from ._tph_history import follow as follow
from ._why import moment as moment, why as why
