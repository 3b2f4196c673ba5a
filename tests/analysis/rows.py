"""Rows of the TPH that these tests follow."""

import functools

from pse_testing.traces import (
    call_rows,
    phase_rows,
    receive_rows,
    send_rows,
    wait_rows,
)

from pse.trace import NONE, EventType, Phase, WaitReason, pair

TPH = 1 << 16


def call(site, begin, end, tph=TPH):
    return call_rows(site, begin, end, tph, cpu=(end - begin) // 2)


def wait(site, begin, end, edge=NONE, reason=WaitReason.INPUT, peer=NONE, tph=TPH):
    return wait_rows(begin, end, reason, tph, site, peer, edge)


send = functools.partial(send_rows, tph=TPH)
receive = functools.partial(receive_rows, tph=TPH)
phase = phase_rows


def begins(time):
    return [{"time": time, "type": EventType.CONTEXT_BEGIN, "tph": TPH, "a": 1, "b": 7, "c": pair(0, NONE)}]


def ends(time):
    return [{"time": time, "type": EventType.CONTEXT_END, "tph": TPH}]


LOADER = [
    *phase(0, Phase.START), *phase(100, Phase.READY), *begins(200), *call(0, 1000, 5000),
    *send(5100, 0, 0, 1), *wait(2, 5200, 9300, edge=1), *receive(9310, 1, 1, 1), *call(2, 9400, 9900),
    *ends(9950), *phase(9960, Phase.DONE), *phase(10000, Phase.END),
]  # fmt: skip

ROWS = [
    *phase(0, Phase.START), *phase(100, Phase.READY), *begins(300), *wait(1, 500, 3000, edge=0),
    *wait(1, 3100, 5150, edge=0), *receive(5160, 0, 0, 0), *call(1, 5200, 9100), *send(9200, 1, 1, 0),
    *ends(9210), *phase(9960, Phase.DONE), *phase(10000, Phase.END),
]  # fmt: skip
