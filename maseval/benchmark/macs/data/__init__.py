"""Which files the benchmark consists of, and what they hold."""
