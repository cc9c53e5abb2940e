"""Running simulations: options, the run folder, budgets, prices, progress."""
