"""An encoder's layers by 8-bit products, for prediction on a CPU."""
