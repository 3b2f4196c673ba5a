"""Tracebacks of users' modules, cut to their own frames: without those of pse and of libraries.

Imports nothing of pse.
"""

from __future__ import annotations

import os


def own_traceback(failure: BaseException, files: frozenset[str]) -> str:
    """Format an exception with the frames of a module only.

    Parameters
    ----------
    failure : BaseException
        As caught.
    files : frozenset of str
        The module's files; frames in their folders count as the module's too (helpers beside it).

    Returns
    -------
    str
        As Python prints tracebacks, without its heading; an exception without frames of the module (raised at
        its call already) gives its last line only.

    Examples
    --------
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as failure:
    ...     own_traceback(failure, frozenset())
    'ZeroDivisionError: division by zero'
    """
    import traceback  # Most modules don't fail.

    folders = {os.path.dirname(file) for file in files if os.path.isabs(file)}
    frames = [
        frame for frame in traceback.extract_tb(failure.__traceback__) if _own(frame.filename, files, folders)
    ]
    if isinstance(failure, SyntaxError):
        frames = []
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(failure)]).rstrip("\n")


def _own(filename: str, files: frozenset[str], folders: set[str]) -> bool:
    return filename in files or os.path.dirname(filename) in folders
