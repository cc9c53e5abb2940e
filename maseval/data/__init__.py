"""How the files of a benchmark get onto the machine: fetched, checked, kept.

A benchmark describes its files in a ``Manifest``; the rest is the same for all of them.
"""
