from ._prepared import Request as Request
from ._request import parse_defines as parse_defines, prepare as prepare
