"""Models of protocols, and the search for a state that breaks their rules."""
