"""Predictions on disk: files of several kinds, and their labels matched with the truth's."""
