"""What the library is made of: locked versions, licenses, and a bill of materials.

``python -m supply.lock``, ``python -m supply.licenses`` and ``python -m supply.sbom`` write them.
"""
