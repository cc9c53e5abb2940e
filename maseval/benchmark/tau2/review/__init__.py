"""The meaning of a number: rules of the policy, who failed and why, and faults of the tasks."""
