from ._trees import ARITY as ARITY
