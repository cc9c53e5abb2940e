"""What the commands of `maseval judge` do."""
