"""A server under load, and updates of its model, for as long as it takes for a leak to show."""
