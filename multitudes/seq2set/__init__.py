"""OTSeq2Set: generating the label set (torch)."""
