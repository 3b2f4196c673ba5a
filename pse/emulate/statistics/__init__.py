"""Statistics of cycles: summaries, intervals, time series, and whether two results differ."""
