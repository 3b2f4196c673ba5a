"""Tags of 1 GiB reach a consumer that is slower than their producer: whole, uncopied, queued."""

import json
import os

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.mpi, pytest.mark.timeout(900)]
GIB = 1 << 30
ROUNDS = 6
NEEDED = 12 * GIB
"""Memory that the larger case needs: tags on both sides, those under way, and the interpreters."""

MODULES = '''
import hashlib
import numpy as np


def digest_of(x):
    return int.from_bytes(hashlib.blake2b(x, digest_size=7).digest(), "little")


#@ coven module produce(in i64 k, in i64 n, out i64 x[n], out i64 digest)
def produce(k, n, x):
    """Fill an array by a generator of its own for each round, so that no page is like another."""
    x[...] = np.random.Generator(np.random.SFC64(k)).integers(0, 1 << 62, n)
    return digest_of(x)

#@ coven module consume(in i64 k, in i64 x[n], in i64 digest)
def consume(k, x, digest):
    """Digest the array twice: slower than making it."""
    for _ in range(2):
        assert digest_of(x) == digest, f"round {k}: the array is not the one that was made"
'''
PROGRAM = """coven 1
import "large.py" { produce, consume }
param i64 n = 1
param i64 rounds = 1
options { queue_depth = 1 }
program large {
  for k in 0 .. rounds {
    thread_A produce(k, n) -> x, digest
    thread_B consume(k, x, digest)
  }
}
"""


def available() -> int:
    """Bytes of memory that programs may still take."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(available() < NEEDED, reason=f"needs {NEEDED >> 30} GiB of free memory")
@pytest.mark.parametrize("shared_memory", ["on", "off"])
def test_each_of_some_gigabyte_tags_arrives_whole(pse, tmp_path, nothing_left_behind, shared_memory):
    (tmp_path / "large.py").write_text(MODULES)
    (tmp_path / "large.coven").write_text(PROGRAM)
    sizes = ("-D", f"n={GIB // 8}", "-D", f"rounds={ROUNDS}")
    options = ("-o", f"shared_memory={shared_memory}", "--report", "json")
    done = pse("run", "large.coven", *sizes, *options, cwd=tmp_path, timeout=600)
    assert done.code == 0, done.err
    report = json.loads(done.out)
    made, taken = report["sites"]
    assert (made["calls"], taken["calls"]) == (ROUNDS, ROUNDS)
    if shared_memory == "on":
        assert made["copied_bytes"] == made["remote_bytes"] == 0
        assert made["described_bytes"] >= ROUNDS * GIB
        # One is with the consumer, one in the queue, one is being made.
        assert report["peak_shared_memory_bytes"] <= 3 * GIB + (1 << 20)
    else:
        assert made["remote_bytes"] >= ROUNDS * GIB
