"""The emulated cluster: nodes as network namespaces on one machine, with shaped links and shares of the CPU.

>>> from pse.cluster import Cluster
>>> with Cluster(nodes=4, rate="100mbit", cpu=0.25) as cluster:  # doctest: +SKIP
...     cluster.run(["pse", "run", "programs/fft2d.coven", "-p", "4"])
...     cluster.run(["python", "ping.py"], ranks=2, capture_output=True, text=True).stdout

Root on Linux only; `unmet_prerequisite` says what is missing.  The rooms below it know nothing of it: to
them, a cluster is a list of hosts and an mpiexec with a launcher of its own.  Inside:  `_plan` is what is
asked for, `_network` and `_cpu_quota` make it, `_state_file` remembers it, `_cluster` puts them together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
