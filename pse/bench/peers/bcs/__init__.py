"""Programs that communicate over MPI or coscheduled, as an argument says; users can run the proxies too."""
