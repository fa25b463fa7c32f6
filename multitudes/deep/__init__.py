"""What the networks share: texts, devices, training, and operations that are fast on a GPU.

Import it before torch: it keeps torch off instructions that fail on this processor.
"""

from multitudes.deep.processor import prepare

prepare()
