"""Verbs over data in shards: patterns, URLs and folders of files."""
