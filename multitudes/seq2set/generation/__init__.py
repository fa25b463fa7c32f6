"""From a network to label sets and rankings."""
