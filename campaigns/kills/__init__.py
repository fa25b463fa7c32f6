"""Campaign: commands that are killed, stopped, or refused by the machine, at any point."""
