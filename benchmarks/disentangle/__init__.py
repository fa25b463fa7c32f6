"""What label disentanglement gains, and costs."""
