"""Read and write sparse text files; count and weigh the terms of texts."""
