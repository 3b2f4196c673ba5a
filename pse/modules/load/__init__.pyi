from ._calling import (
    BegunCall as BegunCall,
    as_module_error as as_module_error,
    begin_call as begin_call,
    resume_call as resume_call,
)
from ._decorator import module as module
from ._imports import import_python as import_python
from ._tracebacks import own_traceback as own_traceback
