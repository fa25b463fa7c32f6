"""Train the rankers of one cluster."""
