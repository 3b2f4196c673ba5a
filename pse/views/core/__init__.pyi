from ._saving import (
    check_writable as check_writable,
    choose_format as choose_format,
)
