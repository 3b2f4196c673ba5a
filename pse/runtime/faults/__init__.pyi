from ._startup_abort import (
    ending_the_job as ending_the_job,
    failing_together as failing_together,
    name_aborts as name_aborts,
)
