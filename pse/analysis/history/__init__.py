"""What happened in one TPH, on all ranks."""
