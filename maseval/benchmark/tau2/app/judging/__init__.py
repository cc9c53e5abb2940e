"""What judges are asked about conversations of tau2, and the pairs that they are measured by."""
