"""The driver: starts launches until the medians are precise or the time is up, and joins what they found."""
