"""The report as one HTML file that opens from disk: no server, no network, nothing to install."""

from maseval.report.document import write_report

__all__ = ["write_report"]
