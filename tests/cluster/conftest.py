"""Fixtures for the cluster's tests: one small cluster for most of them, where this machine allows any."""

import os
import re

import pytest
from pse_testing.jobs import has_mpich

from pse.cluster import Cluster, unmet_prerequisite
from pse.cluster._prerequisites import Refused


@pytest.fixture(scope="session")
def allowed():
    """Skip the test, with the reason, where there can be no emulated cluster."""
    reason = unmet_prerequisite()
    if reason is not None:
        pytest.skip(reason)
    try:
        with Cluster(nodes=1, rate="100mbit"):
            pass
    except Refused as refused:
        pytest.skip(refused.message)


@pytest.fixture(scope="session")
def launching(allowed):
    """Skip the test where ranks can't be started on the nodes."""
    if not has_mpich():
        pytest.skip("only MPICH's launcher starts ranks in an emulated cluster")


@pytest.fixture(scope="module")
def nodes(allowed):
    """Two nodes at 100 Mbit/s."""
    with Cluster(nodes=2, rate="100mbit") as made:
        yield made


@pytest.fixture
def cluster(launching, nodes):
    """Two nodes at 100 Mbit/s, where ranks can be started on them."""
    return nodes


@pytest.fixture
def left():
    """Give a function that lists the links, namespaces and control groups of a cluster by its mark."""

    def look(mark):
        places = ["/sys/class/net", "/run/netns"]
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            places += [line.split()[1] for line in file if re.search(r" cgroup2? ", line)]
        return [
            f"{place}/{name}"
            for place in filter(os.path.isdir, places)
            for name in os.listdir(place)
            if name.startswith(mark)
        ]

    return look
