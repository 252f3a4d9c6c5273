"""What bench/run is made of: servers to start, benchmarks to run on them, and a report of ratios
and goals."""
