"""The desk behind jupyter-server-proxy: a tile of Jupyter's launcher.

Jupyter starts the desk, decides who comes in, and passes requests on under its own name.  The token still
keeps other users of the machine out.
"""

from __future__ import annotations

import secrets
import sys
from typing import Any

from pse.desk.server._serving import TOKEN


def jupyter_tile() -> dict[str, Any]:
    """Say how jupyter-server-proxy starts the desk; its entry point.

    Returns
    -------
    dict
        The description of a server process.

    See Also
    --------
    serve

    Examples
    --------
    >>> jupyter_tile()["launcher_entry"]["title"]
    'pse desk'
    """
    token = secrets.token_urlsafe(24)
    return {
        "command": [sys.executable, "-P", "-m", "pse", "desk", "--no-browser", "--port", "{port}"],
        "environment": {TOKEN: token},
        "timeout": 30,
        "launcher_entry": {"title": "pse desk", "path_info": f"pse-desk/?token={token}"},
    }
