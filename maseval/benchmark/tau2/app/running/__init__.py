"""Running tau2: run, branch, play, mcp, and who takes part."""
