"""Benchmarks of speed and memory, beside a named alternative and the machine's limit."""
