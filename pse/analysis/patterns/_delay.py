"""Delay costs: where late ranks spent the time that others waited for them.

After D. Böhme, M. Geimer, F. Wolf, L. Arnold: Identifying the root causes of wait states in large-scale
parallel applications, ICPP 2010, and the article of this title in ACM TOPC 3 (2016).  Two ranks synchronize
where one waits for the other.  The time between two such points is their synchronization interval; c(p) is
the time of a rank in a call path p in it, without its own waits.
"""

from __future__ import annotations

import numpy as np

from pse.trace.format import Array


def delays(late_keys: Array, late_times: Array, waiting_keys: Array, waiting_times: Array) -> Array:
    """How much more time the late rank spent in a call path: ``d(p) = max(c_late(p) - c_waiting(p), 0)``.

    Parameters
    ----------
    late_keys, waiting_keys : array of uint64, shape (rows,) and (other rows,)
        Interval and call path as one number, of both ranks of the interval; each at most once.
    late_times, waiting_times : array of float64
        c(p), ns.

    Returns
    -------
    array of float64, shape (rows,)
        d(p) of the late rank's rows, ns.
    """
    order = np.argsort(waiting_keys, kind="stable")
    keys = np.append(waiting_keys[order], np.uint64(0))
    times = np.append(waiting_times[order], 0.0)
    place = np.searchsorted(keys[:-1], late_keys)
    found: Array = np.maximum(late_times - np.where(keys[place] == late_keys, times[place], 0.0), 0.0)
    return np.where(place < len(waiting_keys), found, late_times)


def delay_costs(costs: Array, delay: Array, causes: Array) -> Array:
    """What of a wait's costs a delay has: ``k(p) = w * d(p) / (sum of all d + sum of all w')``.

    The sums are over the call paths of the late rank, and over its own waits w', in the interval.  Short-term
    costs are those of the wait itself.  A wait w' has the rest in the same way, ``w * w' / (...)``; what it
    has goes to the delays that made it, as long-term costs, and to waits before it.  So all short-term and
    long-term costs of a wait state add up to its waiting time.

    Parameters
    ----------
    costs : array of float64, shape (rows,)
        w of the wait of each row, ns.
    delay : array of float64, shape (rows,)
        d(p), ns.
    causes : array of float64, shape (rows,)
        Both sums, ns.

    Returns
    -------
    array of float64, shape (rows,)
        k(p), ns.
    """
    found: Array = costs * (delay / causes)
    return found


def critical_path_imbalance(on_path: Array, active: Array) -> Array:
    """How much longer the critical path is in a call path than ranks on average are.

    ``i(p) = max(cp(p) - sum of all a_r(p) / number of ranks, 0)``, cp the time on the path, a_r the time of
    rank r without its waits.  After D. Böhme, F. Wolf, B. R. de Supinski, M. Schulz, M. Geimer: Scalable
    critical-path based performance analysis, IPDPS 2012.

    Parameters
    ----------
    on_path, active : array of float64, shape (call paths, locations)
        cp by location, and a_r, ns.

    Returns
    -------
    array of float64, shape (call paths, locations)
        i(p), shared among locations as the time on the path is, ns.
    """
    whole = on_path.sum(axis=1, keepdims=True)
    beyond = np.maximum(whole - active.mean(axis=1, keepdims=True), 0.0)
    found: Array = beyond * on_path / np.where(whole > 0, whole, 1.0)
    return found
