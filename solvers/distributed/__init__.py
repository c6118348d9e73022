"""Distribution: pieces of state pinned to processes and called in lockstep, on one machine, on Dask or on Ray."""
