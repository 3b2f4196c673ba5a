"""The messages of a slice between nodes: how many, over how many hops, and that all nodes hear all."""

import heapq
import itertools
import math
import random
from collections import defaultdict

import pytest
from pse_testing.example_counts import nightly

from pse.coschedule._simulation import EVERY_NODE, SliceTree


class Network:
    """Nodes whose messages take some time, and arrive in order on each connection."""

    def __init__(self, nodes, delay=lambda: 1):
        self.now, self.messages, self.delay = 0, 0, delay
        self.events, self.numbers, self.arrivals = [], itertools.count(), {}
        self.heard, self.ends = defaultdict(list), {}
        self.trees = [SliceTree(node, nodes, self.wire(node)) for node in range(nodes)]

    def wire(self, node):
        def post(to, kind, said):
            self.messages += 1
            at = max(self.now + self.delay(), self.arrivals.get((node, to), 0))
            self.arrivals[node, to] = at
            heapq.heappush(self.events, (at, next(self.numbers), node, to, kind, said))

        return post

    def begin(self, node):
        said = f"{node} in slice {len(self.heard[node])}".encode()
        self.trees[node].begin([(to, said) for to in (EVERY_NODE, *self.told(node))])
        self.settle(node)

    def told(self, node):
        """Name the nodes that are told something of their own: neighbours, and one far away."""
        nodes = len(self.trees)
        return {(node + 1) % nodes, (node - 1) % nodes, nodes - 1 - node} - {node}

    def settle(self, node):
        tree = self.trees[node]
        if tree.is_over():
            self.heard[node].append(tree.end())
            self.ends[node] = self.now
        if tree.is_called():
            self.begin(node)

    def deliver(self):
        self.now, _, source, node, kind, said = heapq.heappop(self.events)
        self.trees[node].message(source, kind, said)
        self.settle(node)

    def run(self):
        while self.events:
            self.deliver()


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 16, 33, *nightly(300, 1024)])
def test_messages_grow_with_nodes_and_hops_with_their_logarithm(nodes):
    levels = math.ceil(math.log2(nodes))
    for first in {0, nodes // 2, nodes - 1}:
        network = Network(nodes)
        network.begin(first)
        network.run()
        assert len(network.ends) == nodes
        assert 2 * (nodes - 1) <= network.messages <= 3 * (nodes - 1)
        assert max(network.ends.values(), default=0) <= (3 if first == 0 else 4) * levels


@pytest.mark.parametrize("nodes", [1, 2, 3, 6, 13])
def test_all_nodes_hear_all_whoever_begins_and_however_long_messages_take(nodes):
    for seed in range(30):
        dice = random.Random(seed)
        network = Network(nodes, lambda dice=dice: dice.choice([1, 1, 2, 50]))
        for _ in range(20):
            for node in dice.sample(range(nodes), dice.randint(1, nodes)):
                if not network.trees[node].is_begun():
                    network.begin(node)
            for _ in range(dice.randint(0, len(network.events))):
                network.deliver()
        network.run()
        slices = len(network.heard[0])
        assert network.messages <= 4 * (nodes - 1) * slices
        for node in range(nodes):
            assert len(network.heard[node]) == slices
            for number, (count, told) in enumerate(network.heard[node]):
                assert count == sum(1 + len(network.told(one)) for one in range(nodes))
                others = {one: f"{one} in slice {number}".encode() for one in range(nodes) if one != node}
                to_all = [(one, text) for one, to, text in told if to == EVERY_NODE and one != node]
                assert len(to_all) == len(others)
                assert dict(to_all) == others
                alone = [(one, text) for one, to, text in told if to == node]
                assert sorted(alone) == [(one, others[one]) for one in others if node in network.told(one)]


def test_what_a_node_tells_all_comes_before_what_it_tells_one():
    network = Network(16)
    network.begin(3)
    network.run()
    for node in range(16):
        told = network.heard[node][0][1]
        for one in range(16):
            kinds = [to for source, to, _ in told if source == one and to in (EVERY_NODE, node)]
            assert kinds == sorted(kinds, reverse=True)
