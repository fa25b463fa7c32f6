"""A server and what clients can do to it."""
