"""The forms of tau2-bench's messages and files as types: every key is named here, and only here.

A key that v0.2.0 gives a default is ``NotRequired``: a file may leave it out, and a file that we
write never does. Keys that v0.2.0 does not know are kept when a file is read, because later
versions add some.
"""
