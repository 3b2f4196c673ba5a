"""The cube: metrics of call paths on locations, its file and its exports."""
