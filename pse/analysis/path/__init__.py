"""The critical path: what the end of a run waited for, back to its begin."""
