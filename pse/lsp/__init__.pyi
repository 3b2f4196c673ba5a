from ._requests import make_server as make_server, serve as serve
from ._server import ProgramServer as ProgramServer
