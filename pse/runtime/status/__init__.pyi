from ._overview import Overview as Overview
from ._progress import (
    PLAIN_INTERVAL as PLAIN_INTERVAL,
    WATCHER_VARIABLE as WATCHER_VARIABLE,
    can_draw as can_draw,
)
from ._report import Report as Report
from ._report_text import (
    SITE_HEAD as SITE_HEAD,
    THREAD_HEAD as THREAD_HEAD,
    figure_rows as figure_rows,
    format_report as format_report,
    site_rows as site_rows,
    thread_rows as thread_rows,
)
from ._terminal_progress import draw_overview as draw_overview, share_bar as share_bar
