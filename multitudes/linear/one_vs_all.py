"""One-vs-all."""
from multitudes.linear.xr_linear import XRLinear
class OneVsAll(XRLinear):
    """x."""
