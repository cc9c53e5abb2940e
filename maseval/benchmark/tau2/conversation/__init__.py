"""Conversations: held live, continued from a recording, or read from one.

``orchestrator`` decides who speaks next and ``participants`` makes agents and users of any kind
sides of the conversation. ``continuation`` resumes a recorded conversation, and ``recording``
reads one for scoring.
"""
