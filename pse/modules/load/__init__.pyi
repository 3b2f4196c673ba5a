from ._calling import BegunCall as BegunCall, begin_call as begin_call, go_on as go_on, raised as raised
from ._decorator import module as module
from ._imports import import_python as import_python
from ._tracebacks import cut as cut
