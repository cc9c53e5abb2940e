"""What is kept on disk: strict JSON in sealed lines, written so that nothing is lost or leaked."""
