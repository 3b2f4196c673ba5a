from ._export import (
    FORMATS as FORMATS,
    PICTURES as PICTURES,
    check_writable as check_writable,
    choose_format as choose_format,
    export as export,
    write as write,
)
