"""Reading results: show, report, plots, notes and tags."""
