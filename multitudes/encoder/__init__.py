"""PRIME: a text encoder with label prototypes (torch)."""
