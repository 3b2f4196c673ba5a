"""Why ranks waited: who ended each wait, and the chain from wait to wait."""
