from ._cluster import Cluster as Cluster, clusters as clusters, find as find, sweep as sweep
from ._plan import Plan as Plan, rate_text as rate_text
from ._prerequisites import unmet as unmet
