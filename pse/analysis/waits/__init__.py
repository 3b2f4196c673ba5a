"""Why ranks waited: who ended each wait, and the links of a chain from wait to wait."""
