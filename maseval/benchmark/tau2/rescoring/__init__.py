"""Verdicts of recorded simulations, recomputed and compared with what their record says.

``record`` opens a results file, simulations or the reports of a run; ``rescore`` scores every
simulation again (``verdict``) and counts them among those that were planned; ``findings`` says what
is wrong with a record.
"""
