from ._registry import (
    MEASUREMENT_VIEWS as MEASUREMENT_VIEWS,
    OVERLAYS as OVERLAYS,
    SLICE_METRICS as SLICE_METRICS,
    VIEWS as VIEWS,
    View as View,
    draw as draw,
    draw_measurements as draw_measurements,
    draw_slices as draw_slices,
    find_view as find_view,
)
from .charts._animation import check_animation as check_animation, save_animation as save_animation
from .core._colours import (
    Style as Style,
    module_colours as module_colours,
    module_styles as module_styles,
    routine_colours as routine_colours,
    wait_colours as wait_colours,
)
from .core._palette import PALETTE as PALETTE
from .core._rows import Row as Row, rows as rows
from .core._saving import save as save
