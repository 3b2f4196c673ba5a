"""The driver: starts launches until the medians are precise or the time is short, and joins their results."""
