"""The state of a world: records, how they are copied, compared and hashed, what is permanent."""
