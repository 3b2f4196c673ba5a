"""What emulated applications exchange in a cycle: patterns that ship, and those that users add."""
