"""No file can crash a reader, or make it hang, take memory, or raise an error that is not ours."""
