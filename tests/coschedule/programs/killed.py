"""Kill a process inside Xfer-And-Signal, again and again, and say what is left in the memory."""

import json
import os
import random
import signal
import sys
import time

import numpy as np

from pse.coschedule._node_memory import NodeMemory

SIZE, NODES, MOST = 1 << 20, [0, 1, 2], 60
LOCAL, REMOTE, TIME = 1, 0, 200_000_000


def put_for_ever(memory):
    """Put block after block, each of one number."""
    number = 0
    while True:
        number += 1
        memory.put(np.full(SIZE // 8, number), 0, NODES, 0, LOCAL, REMOTE)


def signals(memory, node, event, patient):
    """Count the signals of an event; a patient one sleeps for the last, though nobody else works."""
    count = 0
    while memory.test(node, event, TIME if patient else 0):
        count += 1
    return count


def kill_once(chance, patient):
    """Give the blocks' numbers on each node, the counts of all signals, and what was recovered, and how."""
    memory = NodeMemory(len(NODES), SIZE, 2)
    process = os.fork()
    if process == 0:
        put_for_ever(memory)
    began = memory.test(2, REMOTE, 30_000_000_000)
    time.sleep(chance.uniform(0, 0.004))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    early = signals(memory, 2, REMOTE, True) if patient else 0
    asleep = memory.recovered()[0]
    blocks = [sorted(set(np.frombuffer(memory.read(node, 0, SIZE), np.int64).tolist())) for node in NODES]
    counts = [signals(memory, node, REMOTE, False) for node in NODES]
    counts[2] += early + began
    return {
        "blocks": blocks, "counts": [*counts, signals(memory, 0, LOCAL, False)],
        "finished": memory.recovered()[0], "dropped": memory.recovered()[1], "asleep": asleep,
    }  # fmt: skip


def main():
    """Until a whole intent was finished by a sleeper and by a reader, and one was dropped."""
    chance, kills = random.Random(1), []
    while len(kills) < MOST:
        asleep = any(one["asleep"] for one in kills)
        kills.append(kill_once(chance, not asleep))
        if (
            asleep
            and any(one["dropped"] for one in kills)
            and any(one["finished"] > one["asleep"] for one in kills)
        ):
            break
    json.dump(kills, sys.stdout)


main()
