"""What tools give each other: services, what they keep for handles, rings of events."""

import re
import subprocess

import pytest

from pse.toolstack import INCLUDE

HEAD = """
#include <mpi.h>
#include <stdio.h>
#include "pse_tools.h"
static const struct pse_tools *stack;
#define SAY(...) stack->say(stack->self, __VA_ARGS__)
"""
# Publishes what `gives` names, after it has asked for what `wants` names.
PARTNER = (
    HEAD
    + """
static void nothing(void) {}
int pse_tool_start(const struct pse_tools *tools)
{
    stack = tools;
    const char *wants = tools->argument(tools->self, "wants"), *gives = tools->argument(tools->self, "gives");
    const char *signature = tools->argument(tools->self, "signature");
    if (wants && !tools->subscribe(tools->self, wants, signature ? signature : "void (*)(void)")) {
        tools->fail(tools->self, "it can't do without %s", wants);
        return 1;
    }
    if (gives && tools->publish(tools->self, gives, "void (*)(void)", nothing)) {
        tools->fail(tools->self, "%s is published already", gives);
        return 1;
    }
    SAY("started");
    return 0;
}
int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }
"""
)


@pytest.fixture
def check(pse, tmp_path, tool):
    """Run `pse tools check` on partners: their names with what they want and give."""
    partner = tool("partner", PARTNER)

    def run(text):
        conf = re.sub(r"^(\w+)", rf"module {partner} as \1\n", text, flags=re.MULTILINE)
        conf = re.sub(r" (wants|gives|signature)=(\S+)", r"argument \1 \2\n", conf).replace(
            " optional", "optional\n"
        )
        (tmp_path / "tools.conf").write_text(conf)
        return pse("tools", "check", tmp_path / "tools.conf")

    return run


def test_tools_start_from_the_bottom_up_or_when_they_are_needed(check):
    done = check("top gives=x\nmiddle\nbottom wants=x")
    assert (done.code, done.err) == (0, "middle: started\ntop: started\nbottom: started\n")


def test_a_service_that_nobody_gives_is_named(check):
    done = check("top wants=x\nother gives=y")
    assert done.code == 2
    assert (
        "tool `top`: it can't do without x; it asked for the service `x`, which no tool has published"
        in done.err
    )
    done = check("top wants=x optional\nother gives=y")
    assert done.code == 0
    assert "going on without the optional tool `top`" in done.err


def test_a_service_with_another_signature_is_named(check):
    done = check("top wants=x signature=int\nother gives=x")
    assert done.code == 2
    assert "the service `x`, which is published with another signature" in done.err


def test_a_service_has_one_publisher(check):
    done = check("top gives=x\nother gives=x")
    assert done.code == 2
    assert "tool `top`: x is published already" in done.err


def test_a_cycle_of_services_is_named(check):
    done = check("top wants=x gives=y\nother wants=y gives=x")
    assert done.code == 2
    assert re.search(
        r"tools.conf:\d: tool `top`: it can't do without x.*while `other` \(line \d\) waits for it", done.err
    )
    assert "a cycle of services" in done.err


@pytest.mark.mpi
def test_a_tool_uses_arguments_storage_and_rings(tool, stacked):
    emitter = tool(
        "emitter",
        HEAD
        + """
struct event { int tag; long bytes; };
static struct pse_ring *ring;
int pse_tool_start(const struct pse_tools *tools)
{
    stack = tools;
    ring = tools->ring(tools->self, "sends", "int tag; long bytes", sizeof(struct event), 4);
    return !ring || tools->ring(tools->self, "sends", "other", sizeof(struct event), 4) != NULL;
}
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *request)
{
    int result = PMPI_Isend(b, n, t, to, tag, c, request);
    *(int *)stack->keep(stack->self, PSE_FOR_REQUEST, PSE_HANDLE(*request), sizeof(int)) = tag;
    return result;
}
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    const uintptr_t handle = PSE_HANDLE(*request);
    int *tag = stack->keep(stack->self, PSE_FOR_REQUEST, handle, 0);
    struct event event = {tag ? *tag : -1, 8};
    if (tag)
        pse_ring_put(ring, &event);
    stack->drop(stack->self, PSE_FOR_REQUEST, handle);
    return PMPI_Wait(request, status);
}
""",
    )
    reader = tool(
        "reader",
        HEAD
        + """
struct event { int tag; long bytes; };
int pse_tool_start(const struct pse_tools *tools) { stack = tools; return 0; }
int MPI_Finalize(void)
{
    struct event event;
    struct pse_ring *ring = stack->ring(stack->self, "sends", "int tag; long bytes", sizeof event, 4);
    SAY("%s %s", stack->argument(stack->self, "what"), stack->argument(stack->self, "none") ? "?" : "-");
    while (pse_ring_take(ring, &event))
        SAY("%d", event.tag);
    SAY("lost %d of %d", (int)ring->lost, (int)ring->count);
    SAY("%d", stack->keep(stack->self, PSE_FOR_REQUEST, 7, 0) == NULL);
    return PMPI_Finalize();
}
""",
    )
    text = """
from mpi4py import MPI
for tag in range(6):
    into = bytearray(8)
    receive = MPI.COMM_SELF.Irecv(into, 0, tag)
    send = MPI.COMM_SELF.Isend(bytes(8), 0, tag)
    send.Wait()
    receive.Wait()
"""
    conf = f'module {reader} as reader\n  argument what "a # b"\nmodule {emitter}\n'
    done = stacked(1, conf, "-c", text)
    assert done.code == 0
    said = [line.removeprefix("reader, rank 0: ") for line in done.err.splitlines()]
    assert said == ["a # b -", "0", "1", "2", "3", "lost 2 of 4", "1"]


def test_a_ring_serves_many_threads(tmp_path):
    (tmp_path / "many.c").write_text(
        """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "pse_tools.h"
enum { COUNT = 20000, WRITERS = 3 };
static struct pse_ring *ring;
static void *write_all(void *first)
{
    for (long i = 0; i < COUNT; i++) {
        long event[3] = {(long)first, i, ~i};
        while (!pse_ring_put(ring, event))
            ;
    }
    return NULL;
}
int main(void)
{
    const size_t stride = 32, count = 64;
    ring = aligned_alloc(64, sizeof *ring + stride * count);
    memset(ring, 0, sizeof *ring);
    ring->bytes = 24, ring->stride = stride, ring->count = count;
    for (uint64_t i = 0; i < count; i++)
        *pse_ring_turn(ring, i) = i;
    pthread_t writers[WRITERS];
    long next[WRITERS] = {0}, event[3];
    for (long i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, write_all, (void *)i);
    for (int taken = 0; taken < COUNT * WRITERS;)
        if (pse_ring_take(ring, event)) {
            if (event[1] != next[event[0]]++ || event[2] != ~event[1])
                return 1;
            taken++;
        }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    return pse_ring_take(ring, event);
}
"""
    )
    line = ["cc", "-O2", "-Wall", f"-I{INCLUDE}", tmp_path / "many.c", "-pthread", "-o", tmp_path / "many"]
    subprocess.run(line, check=True)
    assert subprocess.run([tmp_path / "many"], check=False, timeout=60).returncode == 0
