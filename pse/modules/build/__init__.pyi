from ._catalogue import Listed as Listed
from ._compilers import find_compiler as find_compiler
from ._trampolines import EXCEPTION_CODE as EXCEPTION_CODE
