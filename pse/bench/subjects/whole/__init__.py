"""What whole programs and applications take beside the same by hand."""
