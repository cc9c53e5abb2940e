"""What can be wrong with the original's texts."""

from maseval.benchmark.tau2.data.files import Tau2DataError


class TextsError(Tau2DataError):
    """The original's texts cannot be read, or are not what they should be."""


class TextsFileError(TextsError):
    """A file of extracted texts is damaged, or has other texts than the version it is for."""


class ToolMismatchError(TextsError):
    """The original describes other tools or parameters than the ones to be described."""
