"""A simulation as it is held: its messages, who speaks next, and what a model is sent."""
