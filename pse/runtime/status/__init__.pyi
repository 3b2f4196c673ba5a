from ._overview import Overview as Overview
from ._progress import PLAIN_INTERVAL as PLAIN_INTERVAL, WATCHER as WATCHER, can_draw as can_draw
from ._report import Report as Report, from_json as from_json
from ._report_text import to_text as to_text
from ._terminal_progress import drawn as drawn, share_bar as share_bar
