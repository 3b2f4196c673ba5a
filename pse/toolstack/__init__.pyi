from ._adopt import rewrite as rewrite
from ._library import library as library
from ._mpi import Mpi as Mpi, find_mpi as find_mpi
from ._stack import CONFIGURATION as CONFIGURATION, attach as attach, environment as environment
from ._waiting import Coopwait as Coopwait
