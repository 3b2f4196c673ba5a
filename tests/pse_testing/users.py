"""Work as somebody for whom permissions count."""

import contextlib
import os
from collections.abc import Iterator

_NOBODY = 65534


@contextlib.contextmanager
def another_user(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Be another user than root, who owns a folder."""
    if os.geteuid() != 0:
        yield
        return
    os.chown(folder, _NOBODY, -1)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
