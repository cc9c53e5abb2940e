"""Facts about the machine: ``maseval.core.system_info``."""

from maseval.core.system_info import (
    gather_benchmark_config,
    get_environment_variables,
    get_git_info,
    get_package_versions,
    get_python_info,
    get_system_info,
)

__all__ = [
    "gather_benchmark_config",
    "get_environment_variables",
    "get_git_info",
    "get_package_versions",
    "get_python_info",
    "get_system_info",
]
