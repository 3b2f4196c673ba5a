"""Running programs: from the launcher through every rank's plan to the report."""
