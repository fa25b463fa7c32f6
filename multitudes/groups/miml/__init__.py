"""Multi-instance multi-label networks: labels of bags and of the instances in them [torch]."""

import multitudes.deep  # noqa: F401  before torch
from multitudes.errors import require

require("torch", extra="deep")

from multitudes.groups.miml.bag_run import Epoch  # noqa: E402
from multitudes.groups.miml.deep_miml import DeepMIML  # noqa: E402
from multitudes.groups.miml.fit_network import MIMLTraining  # noqa: E402
from multitudes.groups.miml.network import MIMLNetwork  # noqa: E402

__all__ = ["DeepMIML", "Epoch", "MIMLNetwork", "MIMLTraining"]
