from ._directive import STANDARD as STANDARD, Directives as Directives, ModuleFile as ModuleFile
from ._distribution_check import has_dynamic_extent as has_dynamic_extent
from ._ir import (
    Argument as Argument,
    Assign as Assign,
    CallSite as CallSite,
    For as For,
    If as If,
    ModuleReference as ModuleReference,
    Option as Option,
    Output as Output,
    Parallel as Parallel,
    PartitionDeclaration as PartitionDeclaration,
    ResolvedProgram as ResolvedProgram,
    Statement as Statement,
    Swap as Swap,
    Tag as Tag,
    While as While,
    periodic_axes as periodic_axes,
)
from ._scope import DEFAULT_LABEL as DEFAULT_LABEL, PROCS as PROCS
from ._targets import REDUCTIONS as REDUCTIONS
