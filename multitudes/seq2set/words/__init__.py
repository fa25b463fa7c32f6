"""Texts as word ids, and vectors of words."""
