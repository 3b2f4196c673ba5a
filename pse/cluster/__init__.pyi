from ._cluster import (
    Cluster as Cluster,
    existing_clusters as existing_clusters,
    find_cluster as find_cluster,
    node_launcher as node_launcher,
    remove_dead_clusters as remove_dead_clusters,
)
from ._plan import Plan as Plan, rate_text as rate_text
from ._prerequisites import unmet_prerequisite as unmet_prerequisite
