"""A BERT encoder over texts without padding between them."""
