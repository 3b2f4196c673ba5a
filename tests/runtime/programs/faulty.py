"""Modules that do what a module must not do, in Python."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np


# @ coven module fill(in i64 k, in i64 n, out f64 image[n, n] @ root)
def fill(k, n, image):
    """Fill `image` with k."""
    image[...] = k


class Wordless(Exception):
    """An exception whose text can't be made."""

    def __str__(self):
        """Fail."""
        raise RuntimeError


def fork_in_every_way():
    """Fork processes that end in all ways in which a module's call can end."""
    for end in (lambda: sys.exit(0), lambda: 1 / 0, os.abort, signal.pause, lambda: None):
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            end()
            return
        if end is signal.pause:
            os.kill(child, signal.SIGTERM)
        print("a child ended with", os.waitpid(child, 0)[1])


# @ coven module misbehave(in i64 how, in i64 k, in i64 round)
def misbehave(how, k, round):  # noqa: C901
    """Do what a Python module must not do, in one round."""
    if k != round:
        return
    if how == 1:
        raise ValueError("told to raise")
    if how == 2:
        sys.exit(4)
    if how == 3:
        os._exit(0)
    if how == 4:
        while True:
            pass
    if how == 5:
        time.sleep(600)
    if how == 6:
        np.linalg.inv(np.zeros((2, 2)))
    if how in (8, 16):
        print("well on the way")
    while how == 16 and not os.path.exists(os.environ["GO_ON"]):
        time.sleep(0.01)
    if how == 17:
        os.kill(os.getpid(), signal.SIGINT)
    if how == 9:
        raise Wordless
    if how == 10:
        raise ValueError("caf\udce9")
    if how == 11:
        from mpi4py import MPI

        MPI.Finalize()
    if how == 14:
        from mpi4py import MPI

        MPI.COMM_WORLD.Abort(5)
    if how == 18:
        os.closerange(3, 1000)
    if how == 15:
        ctypes.string_at(1)
    if how == 12:
        fork_in_every_way()
    if how == 13:
        subprocess.Popen(["sleep", "600"])
        threading.Thread(target=time.sleep, args=(600,), name="uploader").start()
    if how == 7:
        print(f"read {len(sys.stdin.read())} characters")
