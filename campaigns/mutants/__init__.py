"""The mutation campaign: where a line of the library is changed, a test should fail."""
