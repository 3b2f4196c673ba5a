"""From a trace to operations with measured costs."""
