"""Label disentanglement: an ambiguous label may live in several leaves."""
