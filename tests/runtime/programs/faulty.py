"""Modules that do what a module must not do, in Python."""

import os
import sys
import time

import numpy as np


# @ coven module fill(in i64 k, in i64 n, out f64 image[n, n] @ root)
def fill(k, n, image):
    """Fill `image` with k."""
    image[...] = k


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
    if how == 8:
        print("well on the way")
    if how == 7:
        print(f"read {len(sys.stdin.read())} characters")
