"""A damaged model folder is refused; it never crashes, hangs, or answers otherwise in silence."""
