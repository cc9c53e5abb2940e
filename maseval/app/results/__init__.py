"""Reading results: show, report, notes and tags."""
