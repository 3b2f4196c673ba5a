# Made from cext/abi/waiting.def by cext/abi/generate.py: change the table, not this file.

cdef extern from "abi_waiting.h" nogil:
    enum:
        PSE_WAIT_INPUT
        PSE_WAIT_EXCLUSIVE
        PSE_WAIT_SPACE
        PSE_WAIT_CREDIT
        PSE_WAIT_REMOTE
        PSE_WAIT_ORDER
        PSE_WAIT_START
        PSE_WAIT_ITERATION
        PSE_WAIT_PARTITIONS
        PSE_WANT_INPUT
        PSE_WANT_EXCLUSIVE
        PSE_WANT_SPACE
        PSE_WANT_CREDIT
        PSE_WANT_REMOTE
        PSE_WANT_ORDER
        PSE_WANT_START
        PSE_WANT_ITERATION
        PSE_WANT_PARTITIONS
        PSE_RANK_ABSENT
        PSE_RANK_STARTING
        PSE_RANK_RUNNING
        PSE_RANK_WAIT_INPUT
        PSE_RANK_WAIT_EXCLUSIVE
        PSE_RANK_WAIT_SPACE
        PSE_RANK_WAIT_CREDIT
        PSE_RANK_WAIT_REMOTE
        PSE_RANK_WAIT_ORDER
        PSE_RANK_WAIT_START
        PSE_RANK_WAIT_ITERATION
        PSE_RANK_WAIT_PARTITIONS
        PSE_RANK_DONE
        PSE_RANK_FAILED
        PSE_RANK_LEFT
