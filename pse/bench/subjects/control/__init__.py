"""What it costs that a program can be looked into while it runs."""
