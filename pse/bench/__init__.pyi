from ._figures import Against as Against, Figure as Figure, Result as Result
from ._subjects import (
    REPEATS as REPEATS,
    SUBJECTS as SUBJECTS,
    Subject as Subject,
    check_name as check_name,
    run as run,
)
from ._table import show as show
