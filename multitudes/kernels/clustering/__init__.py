"""Put labels into clusters: their embeddings, k-means, overlapping assignment and senses."""
