"""Parts of the verb predict: what is asked for, and tags of texts on the terminal."""
