"""Label prototypes, and what they are made of."""
