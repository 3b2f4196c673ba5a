from .server._serving import serve as serve
