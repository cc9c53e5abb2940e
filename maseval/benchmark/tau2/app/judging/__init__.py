"""Questions to judges about conversations of tau2, and the pairs that they are measured by."""
