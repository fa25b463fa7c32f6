"""Search a tree of trained rankers."""
