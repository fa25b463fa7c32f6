"""Label disentanglement: models that are compared, controls, and how fused labels come apart.

What is run is listed in `benchmarks.evidence.of_disentangle`.
"""
