"""The inner parts of a run: which repetition runs when, who runs it, and what becomes of it."""
