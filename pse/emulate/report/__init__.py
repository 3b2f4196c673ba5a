"""Reports: models, measurements and comparisons as tables on a terminal and as data frames."""
