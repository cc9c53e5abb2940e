"""Results files of tau2-bench v0.2.0: read of any size, written from our reports."""

from maseval.benchmark.tau2.formats.simulation import RunInfo, SimulationForm
from maseval.benchmark.tau2.results.layout import ResultsFormatError, has_simulations, layout_of
from maseval.benchmark.tau2.results.reading import ResultsFile
from maseval.benchmark.tau2.results.trajectories import read_results
from maseval.benchmark.tau2.results.writing import (
    ExportSummary,
    Omitted,
    export_results,
    simulation_of,
)

__all__ = [
    "ExportSummary",
    "Omitted",
    "ResultsFile",
    "ResultsFormatError",
    "RunInfo",
    "SimulationForm",
    "export_results",
    "has_simulations",
    "layout_of",
    "read_results",
    "simulation_of",
]
