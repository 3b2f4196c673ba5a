"""Typing rules of the standard library's operations, which no directive can say."""
