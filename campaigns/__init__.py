"""Campaigns: many random cases that try to break a promise of the library.

``python -m campaigns.readers --cases 100000`` runs one; docs/campaigns.md says how to write one.
"""

import os

# Cases run side by side in processes; threads of linear algebra would only get in their way, and
# would not live through a fork. These must be set before numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
