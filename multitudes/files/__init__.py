"""Writing files so that a kill at any moment loses nothing: see `multitudes.files.writing`."""
