"""Small runs made by hand: links, queues, meetings, iterations in flight."""

import pytest
from pse_testing.harness import compile_program

from pse.advise.model._cost_model import Cores, Link
from pse.advise.model._operations import Calls, Decision, Input, Kind, Loop, Operation, Unrolled
from pse.advise.model._transfer_sizes import pieces
from pse.advise.simulate._assignment import Assignment, Machine
from pse.advise.simulate._simulation import Simulation, SimulationDeadlock
from pse.program import number_statements

RATE, LATENCY = 1e6, 0.01


def machine(processors: int = 2, **changes: object) -> Machine:
    places = [None, *range(processors)]
    given = {
        "hosts": {place: f"n{place or 0}" for place in places},
        "cores": {place: Cores(f"n{place or 0}", 1.0) for place in places},
        "link": Link(RATE, LATENCY, 0.0, 0.0),
        "hop": 0.0,
        "slack": float("inf"),
    }
    return Machine(**(given | changes))


def run(
    operations: list[Operation],
    body: list[object],
    on: Machine,
    threads: str,
    groups: tuple[int, ...] = (),
    **more,
) -> float:
    """Simulate; the n-th letter is the thread of call site n."""
    labels = {site: f"thread_{letter}" for site, letter in enumerate(threads)}
    unrolled = Unrolled(operations, body, list(groups), dict.fromkeys(labels, 1))
    return Simulation(unrolled, Assignment(labels, more.pop("inflight", {}), **more), on).run().seconds


def call(
    number: int, site: int, processor: int | None, cpu: float = 0.0, rest: float = 0.0, **more
) -> Operation:
    return Operation(number, Kind.CALL, site, processor, cpu, rest, **more)


def near(seconds: float) -> object:
    return pytest.approx(seconds, rel=1e-6, abs=1e-6)


def test_bytes_take_latency_and_rate() -> None:
    operations = [call(0, 0, 0, 1.0), call(1, 1, 1, 1.0, inputs=[Input(0, "q", 2e6)])]
    body = [Calls([[0], [1]])]
    assert run(operations, body, machine(), "AA") == near(1.0 + LATENCY + 2.0 + 1.0)
    same_node = machine(hosts=dict.fromkeys([None, 0, 1], "n"))
    assert run(operations, body, same_node, "AA") == near(2.0)


def test_two_transfers_from_one_node_share_its_link() -> None:
    sources = [call(0, 0, 0, 1.0), call(1, 1, 0, 0.0)]
    readers = [call(n + 2, 2, n + 1, inputs=[Input(0, None, 1e6)]) for n in range(2)]
    body = [Calls([[0], [1], [2], [3]])]
    assert run([*sources, *readers], body, machine(3), "AAA") == near(1.0 + LATENCY + 2.0)


def test_a_transfer_waits_for_a_rank_in_a_call() -> None:
    operations = [call(0, 0, 0, 1.0), call(1, 1, 0, 3.0), call(2, 2, 1, inputs=[Input(0, None, 1e6)])]
    body = [Calls([[0, 1], [2]])]
    assert run(operations, body, machine(), "AAA") == near(4.0)
    assert run(operations, body, machine(slack=0.0), "AAA") == near(5.0)
    assert run(operations, body, machine(slack=5e5, eager=True), "AAA") == near(4.5)


def test_transfers_take_cpu_time() -> None:
    costly = machine(link=Link(RATE, 0.0, 0.0, 0.25e-6))
    operations = [call(0, 0, 0), call(1, 1, 0, 3.0), call(2, 2, 1, inputs=[Input(0, None, 4e6)])]
    assert run(operations, [Calls([[0], [1], [2]])], costly, "ABA") == near(4.0)


def test_each_partition_has_places_of_its_own_in_a_queue() -> None:
    """The reader takes nothing before all have sent: a condition of its loop needs what all of them gave."""
    operations = [call(n, 0, 0, 1.0) for n in range(4)]
    operations += [call(n + 4, 1, 0, inputs=[Input(n, "q", 0.0)]) for n in range(4)]
    body = [Calls([[0], [1], [2], [3]]), Decision([Input(n, None, 0.0) for n in range(4)], frozenset({1}))]
    body.append(Calls([[4], [5], [6], [7]]))
    unrolled = Unrolled(operations, body, [], {0: 4, 1: 4})
    assignment = Assignment({0: "thread_A", 1: "thread_B"}, {})
    assert Simulation(unrolled, assignment, machine(1)).run().seconds == near(4.0)


def test_calls_that_meet_begin_together() -> None:
    operations = [
        call(0, 0, 0, 1.0),
        call(1, 0, 1, 2.0),
        call(2, 1, 0, 0.5, group=0),
        call(3, 1, 1, 0.5, group=0),
    ]
    assert run(operations, [Calls([[0, 2], [1, 3]])], machine(), "AA", (2,)) == near(2.5)


@pytest.mark.parametrize(("depth", "seconds"), [(1, 15.0), (2, 14.0), (4, 12.0), (8, 11.0)])
def test_queues_hold_back_who_is_ahead(depth: int, seconds: float) -> None:
    """One makes six quickly; the other takes one, is busy with something for long, then takes the others."""
    made = [call(n, 0, 0, rest=1.0) for n in range(6)]
    taken = [call(6 + n, 1, 0, rest=5.0 if n == 0 else 0.0, inputs=[Input(n, "q", 8.0)]) for n in range(6)]
    last = call(12, 2, 0, rest=5.0, after=[5])
    body = [Calls([[n, 6 + n]]) for n in range(6)]
    found = run([*made, *taken, last], [*body, Calls([[12]])], machine(), "ABC", depth=depth)
    assert found == near(seconds)


@pytest.mark.parametrize(("window", "seconds"), [(None, 8.0), (1, 8.0), (2, 5.0), (4, 5.0)])
def test_iterations_in_flight_overlap_as_far_as_their_number_allows(
    window: int | None, seconds: float
) -> None:
    """Four rounds of a second on one thread, then one on another; without others in flight in turn."""
    operations: list[Operation] = []
    rounds: list[list[object]] = []
    for n in range(4):
        first = call(2 * n, 0, 0, rest=1.0, after=[2 * n - 1] if n and window in (None, 1) else [])
        operations += [first, call(2 * n + 1, 1, 0, rest=1.0, inputs=[Input(2 * n, None, 8.0)])]
        rounds.append([Calls([[2 * n, 2 * n + 1]])])
    loop = Loop(3, rounds, 4, None, frozenset({0, 1}))
    assert run(operations, [loop], machine(), "AB", inflight={3: window}) == near(seconds)


def test_rounds_that_are_not_simulated_take_as_long_as_those_that_are() -> None:
    operations = [call(n, 0, 0, 0.5) for n in range(8)]
    loop = Loop(3, [[Calls([[n]])] for n in range(8)], 100, None, frozenset({0}))
    assert run(operations, [loop], machine(), "A") == near(50.0)


def test_a_run_that_can_not_go_on_is_no_run() -> None:
    operations = [call(0, 0, 0, inputs=[Input(1, None, 8.0)]), call(1, 1, 0, inputs=[Input(0, None, 8.0)])]
    with pytest.raises(SimulationDeadlock):
        run(operations, [Calls([[0], [1]])], machine(), "AB")


@pytest.mark.parametrize(("periodic", "beside"), [("", [(1, 8.0)]), (", periodic = 0", [(2, 8.0), (1, 8.0)])])
def test_partitions_at_the_ends_of_a_periodic_axis_are_neighbours(periodic, beside):
    text = f"""coven 1
partition P = 3
program ring {{
  var f64[12] @ block(0) halo(1) u
  zero() -> u
  PARALLEL {{ exchange(u{periodic}) }}
  gather(u) -> x
  save("x.npy", x)
}}
"""
    program = compile_program(text, "ring.coven")
    site = next(site for site in number_statements(program).sites if site.label == "exchange")
    assert list(pieces(site, program, 0, 3, {})) == beside
