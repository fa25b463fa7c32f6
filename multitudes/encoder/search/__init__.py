"""Labels with the largest inner products."""
