"""HTTP itself: connections that have limits, what comes over them, and a server that ends."""
