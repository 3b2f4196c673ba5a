"""What several commands have in common: groups, and options."""
