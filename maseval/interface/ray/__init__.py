"""Runs on Ray: all cores of one machine, or a cluster. Needs the extra ``ray``."""
