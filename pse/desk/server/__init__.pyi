from ._serving import serve as serve
