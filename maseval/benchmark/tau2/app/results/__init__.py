"""Reading tau2 results: score, explain, certify, audit, export."""
