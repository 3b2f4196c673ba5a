"""What is read from an mpi.h: prototypes as headers spell them, and errors that name the header."""

import sys
from pathlib import Path

import pytest

from pse.toolstack import _mpi_header as mpi_header

HEADER = Path(sys.prefix) / "include" / "mpi.h"


def one(text):
    header = mpi_header.parse(text)
    (prototype,) = header.prototypes.values()
    return header, prototype


@pytest.mark.parametrize(
    ("text", "letters", "names"),
    [
        ("int MPI_Init(int *argc, char ***argv);", "ipp", ["argc", "argv"]),
        ("extern double MPI_Wtime(void);", "d", []),
        ("int MPI_Pcontrol(const int level, ...);", "ii", ["level"]),
        ("int MPI_X(MPI_Aint a, MPI_Count b[], MPI_Offset c);", "ilpl", ["a", "b", "c"]),
        ("typedef struct comm *MPI_Comm; int MPI_X(MPI_Comm comm);", "ip", ["comm"]),
        ("typedef struct { int a; } MPI_S;\ntypedef int MPI_Comm; int MPI_X(MPI_Comm);", "ii", ["argument0"]),
        ("int MPI_X(int ranges[][3], MPI_T_cb *cb);", "ipp", ["ranges", "cb"]),
        ("int MPI_X(void (*fn)(int, char *), int n);", "ipi", ["fn", "n"]),
        ("typedef void (MPI_F)(MPI_Comm *, ...); int MPI_X(MPI_F f);", "ip", ["f"]),
        ('int MPI_X(int n) __attribute__((deprecated("use ; (this)"))) ;', "ii", ["n"]),
        ('# 3 "mpi.h" 2\nint MPI_X(void *b, int c) __attribute__((tag(MPI,1,2)));', "ipi", ["b", "c"]),
        ("typedef enum k { A, B } MPI_K; int MPI_X(MPI_K k);", "ii", ["k"]),
        ("int PMPI_X(int a);", "ii", ["a"]),
    ],
)
def test_each_way_to_write_a_prototype(text, letters, names):
    header, prototype = one(text)
    assert header.letters(prototype) == letters
    assert [parameter.name for parameter in prototype.parameters] == names


def test_communicators_requests_and_counts_are_found_among_parameters():
    _, alltoallv = one(
        "int MPI_Ialltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],"
        " MPI_Datatype sendtype, MPI_Comm comm, MPI_Request *request);"
    )
    assert (alltoallv.communicator, alltoallv.requests, alltoallv.counts) == (4, (5,), ())
    _, create = one("int MPI_Comm_create(MPI_Comm *newcomm, int count, MPI_Comm comm, MPI_Comm peer);")
    assert (create.communicator, create.counts) == (2, (1,))


def test_a_routine_that_takes_any_number_of_arguments_is_known_as_such():
    assert one("int MPI_Pcontrol(const int level, ...);")[1].variadic


@pytest.mark.skipif(
    not HEADER.with_name("mpi_abi.h").exists(), reason=f"{HEADER.parent} has no mpi.h of MPICH with mpi_abi.h"
)
@pytest.mark.parametrize("name", ["mpi.h", "mpi_abi.h"])
def test_a_whole_header_is_understood(name):
    header = mpi_header.read(HEADER.parent / name)
    handle = {"mpi.h": "i", "mpi_abi.h": "p"}[name]
    assert len(header.prototypes) > 600
    assert header.letters(header.prototypes["MPI_Sendrecv"]) == f"ipi{handle}iipi{handle}ii{handle}p"
    assert not [
        p for p in header.prototypes.values() if any(q.name.startswith("argument") for q in p.parameters)
    ]


@pytest.mark.parametrize(
    ("content", "compiler", "word"),
    [
        ("int x;", "cc", "mpi.h declares no MPI routine"),
        ("#error not here", "cc", "not here"),
        ("", "no-such-compiler", "no-such-compiler can't be run to read"),
    ],
)
def test_a_header_that_can_not_be_read_is_named(tmp_path, content, compiler, word):
    (tmp_path / "mpi.h").write_text(content)
    with pytest.raises(mpi_header.HeaderError, match=word):
        mpi_header.read(tmp_path / "mpi.h", (compiler,))
