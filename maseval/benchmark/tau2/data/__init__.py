"""How the benchmark's files get onto the machine: fetched, checked, kept."""
