from ._chunked_reading import chunks as chunks
from ._moved_times import AMORTISATION as AMORTISATION, MovedTimes as MovedTimes
from ._partial_opening import (
    clock_of as clock_of,
    clock_records as clock_records,
    compared_ranks as compared_ranks,
    has_definitions as has_definitions,
    in_memory as in_memory,
    listed_ranks as listed_ranks,
    merge_clock_records as merge_clock_records,
    open_ranks as open_ranks,
)
from ._rank_file import NOT_ALL_READ as NOT_ALL_READ
from ._residuals import residuals as residuals
from ._run_clock import Comparison as Comparison, RunClock as RunClock
from ._text_records import decode_texts as decode_texts
from ._trace_defects import merge_alike as merge_alike, without_events as without_events
