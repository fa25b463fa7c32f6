"""Instance labels from the labels of groups of instances (EAGLE)."""
