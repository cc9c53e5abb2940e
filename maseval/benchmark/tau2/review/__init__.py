"""What a number means: rules of the policy, who failed and why, and faults of the tasks."""
