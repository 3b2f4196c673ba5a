"""Every generated shim, without MPI: what arrives above, what comes back, and when X_c is called instead.

What is expected follows from the two prototypes: each parameter of X_c is met again in X by its name.
Layers are functions made here; the shims stand in thunks between them, as in the stack.
"""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pse.toolstack import _mpi_header as mpi_header, _shims as shims

ROOT = Path(__file__).parents[2]
HEADER = Path(sys.prefix) / "include" / "mpi.h"
C_TYPES = {"i": ctypes.c_int, "l": ctypes.c_int64, "p": ctypes.c_void_p}
WIDE = ("MPI_Count", "MPI_Aint")
TOO_LARGE = 2**31
LENGTH = 3  # of every array
QUERIES = ["MPI_Get_count", "MPI_Get_elements", "MPI_Pack_size", "MPI_Type_size", "MPI_Win_shared_query"]
UNDEFINED = -32766

if not HEADER.exists():
    pytest.skip(f"there is no {HEADER}: the embedded MPI is not installed", allow_module_level=True)

KNOWN = mpi_header.read(HEADER)
LARGE = [prototype for prototype in KNOWN.prototypes.values() if shims.has_shim(prototype, KNOWN)]

if not LARGE:
    pytest.skip(f"{HEADER} has no routines with large counts", allow_module_level=True)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The shims of all routines in the header, with the stack's own thunks and tables."""
    place = tmp_path_factory.mktemp("shims")
    (place / "shims.c").write_text(shims.text(KNOWN, KNOWN.prototypes))
    (place / "names.c").write_text(names(sorted(KNOWN.prototypes)))
    core, own = ROOT / "cext" / "toolstack" / "core", ROOT / "pse" / "toolstack"
    sources = [core / name for name in ("calls/large_counts.c", "calls/thunk.c", "mpi/routine_table.c")]
    sources += [
        own / "shims" / "shims_mpi.c",
        place / "shims.c",
        place / "names.c",
        ROOT / "tests" / "toolstack" / "shim_harness.c",
    ]
    includes = [core, own / "include", own / "shims", HEADER.parent]
    command = [
        "cc",
        "-std=gnu11",
        "-O1",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        "-D_GNU_SOURCE",
        "-Wall",
        "-Werror",
    ]
    command += [
        "-Wno-deprecated-declarations",
        *(f"-I{include}" for include in includes),
        "-o",
        place / "shims.so",
    ]
    subprocess.run([*command, *sources], check=True)
    loaded = ctypes.CDLL(place / "shims.so")
    loaded.layer_of.restype = ctypes.c_void_p
    loaded.layer_of.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    loaded.watched.restype = ctypes.c_void_p
    loaded.watched.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    return loaded


def names(routines):
    """The table that stubs.py generates beside the stubs."""
    at = [sum(len(name) + 1 for name in routines[:i]) for i in range(len(routines))]
    text = "".join(f'"{name}\\0"\n' for name in routines)
    return (
        f'#include "mpi/routine_table.h"\nconst int pse_toolstack_routine_count = {len(routines)};\n'
        f"const char pse_toolstack_names[] =\n{text};\n"
        f"const unsigned pse_toolstack_name_at[] = {{{', '.join(map(str, at))}}};\n"
    )


class Layer:
    """A function with a routine's prototype that remembers what it was called with."""

    def __init__(self, prototype, answer=None):
        self.prototype, self.calls, self.arrays, self.answer = prototype, [], {}, answer
        result, *parameters = (C_TYPES[letter] for letter in KNOWN.letters(prototype))
        self.function = ctypes.CFUNCTYPE(result, *parameters)(self.called)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value

    def called(self, *values):
        arguments = dict(
            zip((parameter.name for parameter in self.prototype.parameters), values, strict=True)
        )
        self.calls.append(arguments)
        if self.answer:
            self.answer(self, arguments)
        return 0


class Call:
    """Arguments for a large-count routine: every value another, arrays and outputs in memory that is kept."""

    def __init__(self, prototype):
        self.prototype = prototype
        self.memory = {}
        self.values = {p.name: self.value(p, i) for i, p in enumerate(prototype.parameters)}

    def value(self, parameter, index):
        if is_array(parameter) or is_output(parameter) or parameter.name == "request":
            content = [10 * index + k for k in range(LENGTH)]
            self.memory[parameter.name] = (ctypes.c_int64 * LENGTH)(*content)
            return ctypes.addressof(self.memory[parameter.name])
        if parameter.name in ("root", "max_large_counts"):
            return 0
        if parameter.name == "ndims" or (parameter.name == "count" and self.prototype.communicator is None):
            return LENGTH
        return 100 + index

    def run(self, library, upper, below):
        small = self.prototype.name.removesuffix("_c").encode()
        function = library.layer_of(small, self.prototype.name.encode(), upper.address, below.address)
        types = (C_TYPES[letter] for letter in KNOWN.letters(self.prototype))
        return ctypes.CFUNCTYPE(*types)(function)(*self.values.values())


def is_array(parameter):
    return parameter.base in WIDE and parameter.type.startswith("const ")


def is_output(parameter):
    return parameter.base in WIDE and parameter.is_pointer and not is_array(parameter)


def small_of(large):
    return KNOWN.prototypes[large.name.removesuffix("_c")]


def narrowed(large):
    """The parameters that are 64 bits in X_c and int in X."""
    below = {parameter.name: parameter for parameter in small_of(large).parameters}
    return [p for p in large.parameters if p.base in WIDE and p.name in below and below[p.name].base == "int"]


def note_arrays(large):
    """What the tool's X does: read all arrays of ints, write a value to each output."""
    kinds = {p.name: p for p in narrowed(large)}

    def answer(layer, arguments):
        for index, (name, parameter) in enumerate(kinds.items()):
            if parameter.is_pointer:
                ints = ctypes.cast(arguments[name], ctypes.POINTER(ctypes.c_int))
                layer.arrays[name] = ints[:LENGTH] if is_array(parameter) else ints[0]
                if not is_array(parameter):
                    ints[0] = 7 + index

    return answer


def by_name(prototype):
    return prototype.name


@pytest.mark.parametrize("large", LARGE, ids=by_name)
def test_counts_that_fit_arrive_at_x_and_its_outputs_come_back(library, large):
    library.set_group(0, LENGTH, 0)
    upper, below, call = Layer(small_of(large), note_arrays(large)), Layer(large), Call(large)
    before = {name: list(memory) for name, memory in call.memory.items()}
    assert call.run(library, upper, below) == 0
    assert len(upper.calls) == 1
    assert len(below.calls) == (large.name == "MPI_Type_get_envelope_c")  # which asks how the type was made
    converted = {parameter.name: parameter for parameter in narrowed(large)}
    for name, value in upper.calls[0].items():
        if name not in converted or not converted[name].is_pointer:
            assert value == call.values[name], name
        elif is_array(converted[name]):
            assert upper.arrays[name] == before[name], name
        else:
            assert upper.arrays[name] == (before[name][0] if name == "position" else 0), name
            assert call.memory[name][0] == 7 + list(converted).index(name), name


def counts_given(large):
    """Counts that the caller gives."""
    return [one for one in narrowed(large) if not is_output(one) or one.name == "position"]


@pytest.mark.parametrize("large", [*filter(counts_given, LARGE)], ids=by_name)
def test_one_count_that_does_not_fit_sends_the_call_on(library, large):
    library.set_group(0, LENGTH, 0)
    for parameter in counts_given(large):
        upper, below, call = Layer(small_of(large)), Layer(large), Call(large)
        if parameter.is_pointer:
            call.memory[parameter.name][0 if parameter.name == "position" else LENGTH - 1] = TOO_LARGE
        else:
            call.values[parameter.name] = TOO_LARGE
        call.run(library, upper, below)
        assert (upper.calls, below.calls[-1]) == ([], call.values), parameter.name


@pytest.mark.parametrize("large", LARGE, ids=by_name)
def test_what_stays_64_bits_may_be_large(library, large):
    library.set_group(0, LENGTH, 0)
    stays = {
        p.name for p in large.parameters if p.base in WIDE and not p.is_pointer and p not in narrowed(large)
    }
    upper, below, call = Layer(small_of(large), note_arrays(large)), Layer(large), Call(large)
    for name in stays - {"max_large_counts"}:
        call.values[name] = TOO_LARGE
    call.run(library, upper, below)
    assert len(upper.calls) == 1


ROOTED = [
    p for p in LARGE if any(q.name == "root" for q in p.parameters) and any(map(is_array, p.parameters))
]


@pytest.mark.parametrize("large", ROOTED, ids=by_name)
@pytest.mark.parametrize(("inter", "root"), [(0, 0), (1, -1), (1, 0)], ids=["rank", "null", "remote"])
def test_arrays_that_only_the_root_gives_are_not_read_elsewhere(library, large, inter, root):
    library.set_group(inter, LENGTH, 1)
    upper, below, call = Layer(small_of(large)), Layer(large), Call(large)
    call.values["root"] = root
    for parameter in filter(is_array, large.parameters):
        call.values[parameter.name] = 16  # no address
    call.run(library, upper, below)
    assert [upper.calls[0][p.name] for p in large.parameters if is_array(p)] == [16, 16]


@pytest.mark.parametrize("large", ROOTED, ids=by_name)
def test_the_root_of_an_intercommunicator_gives_its_arrays(library, large):
    library.set_group(1, LENGTH, 1)
    upper, below, call = Layer(small_of(large), note_arrays(large)), Layer(large), Call(large)
    call.values["root"] = -3  # MPI_ROOT
    call.run(library, upper, below)
    assert all(upper.arrays[p.name] == list(call.memory[p.name]) for p in large.parameters if is_array(p))


@pytest.mark.parametrize(
    "large", [p for p in LARGE if re.match("MPI_I?alltoall[vw]", p.name, re.I)], ids=by_name
)
def test_in_place_nobody_reads_what_is_not_sent(library, large):
    library.set_group(0, LENGTH, 0)
    upper, below, call = Layer(small_of(large)), Layer(large), Call(large)
    call.values |= {"sendbuf": 2**64 - 1, "sendcounts": 16, "sdispls": 16}
    call.run(library, upper, below)
    assert upper.calls[0]["sendcounts"] == 16


@pytest.mark.parametrize("large", [p for p in LARGE if p.name[:-2] in QUERIES], ids=by_name)
def test_an_answer_that_does_not_fit_is_asked_for_below(library, large):
    output = next(p.name for p in narrowed(large) if is_output(p))

    def undefined(layer, arguments):
        ctypes.cast(arguments[output], ctypes.POINTER(ctypes.c_int))[0] = UNDEFINED

    def exact(layer, arguments):
        ctypes.cast(arguments[output], ctypes.POINTER(ctypes.c_int64))[0] = TOO_LARGE

    upper, below, call = Layer(small_of(large), undefined), Layer(large, exact), Call(large)
    call.run(library, upper, below)
    assert (len(upper.calls), len(below.calls), call.memory[output][0]) == (1, 1, TOO_LARGE)


def test_a_type_made_with_large_counts_is_described_below(library):
    large = KNOWN.prototypes["MPI_Type_get_envelope_c"]

    def made_large(layer, arguments):
        ctypes.cast(arguments["num_large_counts"], ctypes.POINTER(ctypes.c_int64))[0] = 2

    upper, below, call = Layer(small_of(large)), Layer(large, made_large), Call(large)
    call.run(library, upper, below)
    assert (upper.calls, len(below.calls), call.memory["num_large_counts"][0]) == ([], 2, 2)


COMPLETIONS = [
    "Wait",
    "Test",
    "Request_free",
    "Waitany",
    "Testany",
    "Waitall",
    "Testall",
    "Waitsome",
    "Testsome",
]


@pytest.mark.parametrize("routine", COMPLETIONS)
def test_arrays_live_until_their_request_is_complete(library, routine):
    large, completion = KNOWN.prototypes["MPI_Ialltoallw_c"], KNOWN.prototypes[f"MPI_{routine}"]
    upper, call = Layer(small_of(large)), Call(large)
    library.set_group(0, LENGTH, 0)
    call.memory["request"][0] = 77
    others = library.kept_arrays()
    call.run(library, upper, Layer(large))
    pointer = ctypes.cast(upper.calls[0]["sendcounts"], ctypes.POINTER(ctypes.c_int))
    requests = (ctypes.c_int * 2)(55, 77)

    def complete(index):
        def answer(layer, arguments):
            requests[index] = 0

        layer = Layer(completion, answer)
        types = [C_TYPES[letter] for letter in KNOWN.letters(completion)]
        arguments = [2 if parameter.name.endswith("count") else None for parameter in completion.parameters]
        one = "count" not in layer.prototype.parameters[0].name
        arguments[completion.requests[0]] = ctypes.addressof(requests) + (4 * index if one else 0)
        ctypes.CFUNCTYPE(*types)(library.watched(completion.name.encode(), layer.address))(*arguments)

    complete(0)
    assert pointer[:LENGTH] == list(call.memory["sendcounts"])
    assert library.kept_arrays() == others + 4
    complete(1)
    assert library.kept_arrays() == others


def test_only_what_passes_counts_through_functions_has_no_shim():
    large = {name for name in KNOWN.prototypes if name.endswith("_c") and name[:-2] in KNOWN.prototypes}
    assert large - {prototype.name for prototype in LARGE} == shims.WITHOUT_SHIM


def test_parameters_are_told_by_their_places():
    header = mpi_header.parse(
        "int MPI_Ibsend(const void *b, int n, MPI_Comm c, MPI_Request *r);"
        "int MPI_Ibsend_c(const void *buf, MPI_Count count, MPI_Comm comm, MPI_Request *request);"
    )
    text = shims.text(header, header.prototypes)
    assert "int pse_count = pse_toolstack_int(&narrow, count);" in text
    assert "layer->upper)(buf, pse_count, comm, request);" in text


def test_what_the_library_lacks_has_no_shim():
    assert "shim_MPI_Send_c" not in shims.text(KNOWN, ["MPI_Send", "MPI_Recv", "MPI_Recv_c"])
