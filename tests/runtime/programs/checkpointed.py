"""Modules of checkpointed.coven; what they compute has the same bits on any number of processors.

Rounds and iterations, counted on, wait while a file ``hold`` has a number that is not above theirs.
"""

import math
import time
from pathlib import Path

import numpy as np


def held_from():
    """Give the first step that waits; the test may take that back while it is read."""
    try:
        return int(Path("hold").read_text() or "0")
    except FileNotFoundError:
        return math.inf


def hold(step):
    while held_from() <= step:
        Path(f"at{step}").touch()
        time.sleep(0.002)


# @ coven module begin(in i64 n, out c128 start[n], out object notes, out c128 wave)
def begin(n):
    return np.exp(1j * np.arange(n)) * 3, {"rounds": []}, 1 + 2j


# @ coven module relax(inout c128 u[m], in c128 v[m], in i64 k, in f64 peaks[2], in i64 milliseconds,
# @                    out f64 most, out f64 own[2])
def relax(u, v, k, peaks, milliseconds):
    hold(k)
    time.sleep(milliseconds / 1000)
    u += np.sin(v.real * k) + 0.25j * v + 0.001 * peaks.sum()
    most = [x.max(initial=0.0) for x in (np.abs(u), u.real, u.imag)]
    return float(most[0]), np.array(most[1:])


# @ coven module shrink(inout c128 u[m], out f64 most)
def shrink(u):
    u *= 0.8
    return float(np.abs(u).max(initial=0.0))


# @ coven module note(in object notes, in i64 k, in f64 top, out object longer)
def note(notes, k, top):
    return {"rounds": [*notes["rounds"], (k, top)]}


# @ coven module turn(inout c128 wave, in f64 top)
def turn(wave, top):
    wave *= np.exp(1j * top)


# @ coven module weigh(in c128 v[m], in i64 i, out f64 weight)
def weigh(v, i):
    return float(np.abs(v + i).max(initial=0.0))


# @ coven module frame(in i64 i, in c128 whole[n], in f64 weights, in i64 settled, in i64 rounds)
def frame(i, whole, weights, settled, rounds):
    hold(rounds + i)
    np.save(f"frame{i}.npy", np.abs(whole) ** i * weights + settled)


# @ coven module finish(in c128 whole[n], in c128 other[n], in object notes, in i64 settled, in c128 wave)
def finish(whole, other, notes, settled, wave):
    rounds = np.array(notes["rounds"])
    np.savez("result.npz", whole=whole, other=other, rounds=rounds, settled=settled, wave=wave)
