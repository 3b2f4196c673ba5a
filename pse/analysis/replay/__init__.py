"""The replay of a trace: calls, messages and collective operations of all ranks, and what they waited for."""
