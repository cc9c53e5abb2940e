"""The viewer: all runs of a folder as a page on this machine, live while they are running."""
