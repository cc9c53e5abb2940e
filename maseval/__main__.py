"""``python -m maseval`` is ``maseval``."""

from maseval.cli import main

main()
