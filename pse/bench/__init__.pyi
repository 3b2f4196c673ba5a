from ._doctor import (
    BAD as BAD,
    GOOD as GOOD,
    NOTE as NOTE,
    Finding as Finding,
    examine_machine as examine_machine,
    findings_text as findings_text,
)
from ._figures import Against as Against, Figure as Figure, Result as Result
from ._machine import describe_machine as describe_machine
from ._manual import (
    check_page as check_page,
    comparison_table as comparison_table,
    update_page as update_page,
    write_tables as write_tables,
)
from ._registry import (
    REPEATS as REPEATS,
    SUBJECTS as SUBJECTS,
    Subject as Subject,
    find_subject as find_subject,
    measure_subject as measure_subject,
)
from ._result_table import print_result as print_result
from ._running import (
    Samples as Samples,
    Surroundings as Surroundings,
    in_turn as in_turn,
    ratios as ratios,
    run_peer as run_peer,
    run_program as run_program,
    usable_cores as usable_cores,
)
from ._scaling_model import fit_growth as fit_growth
