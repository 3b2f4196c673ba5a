from ._errors import BuildError as BuildError, ModuleError as ModuleError
from .build._build_mode import FAST as FAST, BuildMode as BuildMode
from .build._builder import (
    Built as Built,
    build_module as build_module,
    build_modules as build_modules,
    end_compilers as end_compilers,
    find_unbuildable as find_unbuildable,
)
from .directives._comments import (
    function_line as function_line,
    module_comment as module_comment,
)
from .directives._finder import (
    NOTHING_DECLARED as NOTHING_DECLARED,
    Finder as Finder,
    examine_source as examine_source,
    resolve_import as resolve_import,
)
from .load._calling import call_python as call_python
from .load._loader import (
    LoadedModule as LoadedModule,
    load_module as load_module,
    set_services as set_services,
)
