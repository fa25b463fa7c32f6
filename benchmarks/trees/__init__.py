"""Tree models: speed, size, precision, growth, and where the time goes."""
