"""Runs, files of reports and results files for the tests of frames; none needs data or a key."""

from functools import partial

from examples.booking import BookingBenchmark, load_tasks
from maseval.commands import tau2
from maseval.core.callbacks import FileResultLogger

library_run = partial(tau2.run, domain="library", agent="noisy", agent_args={"error_rate": 0.3})


def booking_reports(folder, **options):
    """A file with the reports of a benchmark that is not tau2."""
    logger = FileResultLogger(folder, "booking.jsonl", **options)
    BookingBenchmark(seed=7, progress_bar=False, callbacks=[logger]).run(load_tasks())
    return logger.output_file
