"""What each kernel is worth: training speed with and without it."""
