"""What the networks share: texts, devices, training, and operations that are fast on a GPU."""
