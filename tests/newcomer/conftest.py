"""The command line, data and a model of the tests of the command line."""

from __future__ import annotations

from tests.cli.conftest import cli, model, test_file, train_file

__all__ = ["cli", "model", "test_file", "train_file"]
