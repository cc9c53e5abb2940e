"""Whether a number can be trusted: why a verdict, who failed, is the benchmark itself right."""
