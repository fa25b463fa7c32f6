"""Random small problems through every model: the answers of brute force and of other libraries."""
