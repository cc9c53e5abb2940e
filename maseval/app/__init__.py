"""The application layer: everything a command does, without parsing and without printing.

The rooms are named after what people do: ``running``, ``results``, ``comparing``, ``judging`` and
``sharing``. What belongs to one benchmark is in that benchmark's own ``app`` package. Users call
these functions by way of ``maseval.commands``.
"""
