from ._request import Request as Request, parse_defines as parse_defines, prepare as prepare
