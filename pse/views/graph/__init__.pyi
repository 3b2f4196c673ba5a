from ._export import (
    FORMATS as FORMATS,
    PICTURES as PICTURES,
    choose_graph_format as choose_graph_format,
    export_graph as export_graph,
)
from ._measured import (
    Measured as Measured,
    measured_graph as measured_graph,
)
