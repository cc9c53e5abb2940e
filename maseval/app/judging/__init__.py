"""Judge models as instruments: asked about runs, and measured by known answers."""
