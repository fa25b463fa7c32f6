"""OTSeq2Set beside sequence models: see `python -m benchmarks.seq2set --help`."""
