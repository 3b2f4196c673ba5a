from ._adopt import adopt as adopt
from ._coopwait import Coopwait as Coopwait
from ._library import INCLUDE as INCLUDE, library as library
from ._mpi import Mpi as Mpi, find_mpi as find_mpi
from ._preloads import preload_tools as preload_tools, restart_preloaded as restart_preloaded
from ._python_tools import Ring as Ring, Tool as Tool
from ._stack import (
    CONFIGURATION as CONFIGURATION,
    LoadedTool as LoadedTool,
    attach as attach,
    available as available,
    configuration_of as configuration_of,
    describe as describe,
    environment as environment,
    execute as execute,
)
