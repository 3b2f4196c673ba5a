from ._background import Running as Running, start as start
from ._display import Screen as Screen
from ._errors import (
    NotebookError as NotebookError,
    ProgramRejected as ProgramRejected,
    RunFailed as RunFailed,
    asked_by_form as asked_by_form,
    translated as translated,
)
from ._experiment import experiment as experiment
from ._magics import load_magics as load_magics
from ._programs import Checked as Checked, checked as checked
from ._project import create_project as create_project
from ._result import Result as Result
from ._running import Job as Job, make_job as make_job, run as run
