from ._compilers import find_compiler as find_compiler
from ._module_list import (
    Listed as Listed,
    call_text as call_text,
    choose_modules as choose_modules,
    directive_text as directive_text,
    files_below as files_below,
    find_modules as find_modules,
    prototype_text as prototype_text,
    read_module_file as read_module_file,
    split_reference as split_reference,
)
from ._new_module import module_text as module_text
from ._reserved_words import (
    require_function_name as require_function_name,
    require_source_names as require_source_names,
)
from ._sanitizers import (
    parse_sanitizers as parse_sanitizers,
    sanitizer_environment as sanitizer_environment,
)
from ._templates import (
    TEMPLATE_ENDINGS as TEMPLATE_ENDINGS,
    create_module_file as create_module_file,
    template_text as template_text,
)
from ._trampolines import EXCEPTION_CODE as EXCEPTION_CODE
