"""Patterns of waiting, each with its formula: times in, waiting times out."""
