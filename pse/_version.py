"""The version of the package; its build reads it here."""

__version__ = "0.1.0.dev0"
