"""One runnable module per question: ``python -m benchmarks.NAME``."""
