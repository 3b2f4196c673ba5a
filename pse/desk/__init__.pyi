from .server._proxied import jupyter_tile as jupyter_tile
from .server._serving import serve as serve
