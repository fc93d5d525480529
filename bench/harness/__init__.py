"""The parts of bench/run.py, one concept per file; only the standard library is needed."""
