"""What models cost: how large data is, what could be trained on it, and how long that takes."""
