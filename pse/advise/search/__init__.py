"""The search for a better assignment; predictions and what-if."""
