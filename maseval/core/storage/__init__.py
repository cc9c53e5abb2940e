"""Files on disk: strict JSON, sealed lines, atomic files, locks, and no secrets."""
