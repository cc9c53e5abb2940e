"""Booking meeting rooms: a small benchmark that needs no data, key or network.

It shows what a benchmark of one's own looks like, and that an installation works:
``python -m maseval.benchmark.booking``.
"""

from maseval.benchmark.booking.benchmark import BookingBenchmark, BookingEvaluator, MeetingRooms
from maseval.benchmark.booking.tasks import load_tasks

__all__ = ["BookingBenchmark", "BookingEvaluator", "MeetingRooms", "load_tasks"]
