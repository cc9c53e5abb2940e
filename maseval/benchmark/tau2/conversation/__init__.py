"""A conversation while it is held.

What is said: ``messages``. What a model is sent: ``chat``, ``prompts``. Who speaks:
``participants`` (any agent or user), ``speakers`` (those that give one message at a time); who
speaks next: ``orchestrator``. What is recorded: ``trajectory``; what scoring reads of it:
``recording``.
"""
