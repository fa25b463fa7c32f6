"""Networks over bags, section 7.3 of EAGLE: digits in bags, descriptions cut into sentences.

What is run is listed in `benchmarks.evidence.of_miml`.
"""
