"""Tests of the checker find modules in a table."""

from pse_testing.module_table import finder

__all__ = ["finder"]
