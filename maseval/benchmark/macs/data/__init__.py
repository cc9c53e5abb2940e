"""The benchmark's files: their manifest, and the formats of what they hold."""
