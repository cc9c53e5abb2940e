"""``python -m maseval.cli`` is ``maseval``."""

from maseval.cli import main

main()
