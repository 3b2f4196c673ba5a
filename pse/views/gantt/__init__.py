"""The Gantt chart of a run."""
