"""Bar charts, memory, load, message matrix, critical path."""
