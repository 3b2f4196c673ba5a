# Made from cext/abi/backoff.def by cext/abi/generate.py: change the table, not this file.

cdef extern from "abi_backoff.h" nogil:
    enum:
        PSE_BACKOFF_SHORTEST
        PSE_BACKOFF_LONGEST
        PSE_BACKOFF_LONGEST_BRIEF
        PSE_BACKOFF_SHARE
        PSE_BACKOFF_AWAKE
        PSE_BACKOFF_AWAKE_FOR_BELL
        PSE_BACKOFF_YIELD_FREE
        PSE_BACKOFF_YIELD_BUSY
        PSE_BACKOFF_TRUST_FREE
        PSE_BACKOFF_TRUST_BUSY
        PSE_BACKOFF_LOOKS
