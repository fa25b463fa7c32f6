"""Learn labels of instances from labels of groups."""
