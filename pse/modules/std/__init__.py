"""The standard library ``pse.std``."""
