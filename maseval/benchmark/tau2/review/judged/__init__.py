"""Questions about a conversation that a language model answers, and conversations to measure it."""
