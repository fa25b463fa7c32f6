"""The text encoder that instances and labels share: made, read, run, saved."""
