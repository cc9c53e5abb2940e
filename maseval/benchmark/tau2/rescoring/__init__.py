"""Reports of a record, judged again and compared with what their record says.

``verdict`` judges one report, ``judged`` all of a record, which it counts among those that were
planned; ``tasks`` compares those of the record with the benchmark's, ``findings`` says what is
wrong with it, and ``recount`` has all that follows.
"""
