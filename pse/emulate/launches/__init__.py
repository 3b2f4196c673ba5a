"""The driver: starts launches until the medians are precise, or there is no time for another, and joins what they found."""
