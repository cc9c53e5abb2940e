"""The world of a task: its databases and tools, made, changed by calls, and replayed."""
