from ._elements import expression_element as expression_element
from ._evaluation import evaluate as evaluate, without_value as without_value
from ._expressions import (
    DYNAMIC as DYNAMIC,
    Apply as Apply,
    Binary as Binary,
    Expression as Expression,
    Name as Name,
    Number as Number,
    Text as Text,
    Unary as Unary,
    Value as Value,
    is_dynamic as is_dynamic,
    names_in as names_in,
    read_position as read_position,
    render_expression as render_expression,
    substitute as substitute,
)
from ._options import OPTIONS as OPTIONS, OptionKind as OptionKind, read_size as read_size
from ._records import (
    FIELD_BYTES as FIELD_BYTES,
    Record as Record,
    record_of as record_of,
    record_type as record_type,
)
from ._shape_unification import solve_dimensions as solve_dimensions
from ._types import (
    DIRECTIVE_MARKS as DIRECTIVE_MARKS,
    LANGUAGES as LANGUAGES,
    Direction as Direction,
    Distribution as Distribution,
    Element as Element,
    Parameter as Parameter,
    Pattern as Pattern,
    Signature as Signature,
    Type as Type,
    block_range as block_range,
    render_distribution as render_distribution,
    render_shape as render_shape,
    render_signature as render_signature,
    render_type as render_type,
)
