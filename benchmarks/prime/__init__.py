"""PRIME against the encoders it is compared with: ``python -m benchmarks.prime``."""
