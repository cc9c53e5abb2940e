"""Fetch, verify and cache the files of a benchmark.

A benchmark declares its files in a ``Manifest`` and where they come from; everything else is here
and the same for all benchmarks: ``files`` (the manifest), ``sources`` (getting bytes), ``folder``
(a verified folder, ours or the user's own) and ``kept`` (what was computed once).
"""
