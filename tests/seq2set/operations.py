"""Which operations run, and which of them a device would be waited for."""

from collections import Counter

from torch.utils._python_dispatch import TorchDispatchMode

WAITING = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "unique_dim", "_unique2"}
"""Operations whose result the host must see before it can go on."""


class Operations(TorchDispatchMode):
    """Names of all operations and how often each ran, backward ones too."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    @property
    def names(self):
        return set(self.counts)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))
