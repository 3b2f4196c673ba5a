"""Writing a program back: completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(path: str | Path, data: bytes) -> None:
    """Put new contents in the place of a file, with its mode; a link stays a link.

    Parameters
    ----------
    path : path
        The file.
    data : bytes
        Its new contents.

    Raises
    ------
    OSError
        It can't be done; the file is as it was.
    """
    target = Path(path).resolve()
    mode = target.stat().st_mode
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode & 0o7777)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
