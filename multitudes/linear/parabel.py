"""Parabel: an ensemble of binary label trees."""
from multitudes.linear.xr_linear import XRLinear
class Parabel(XRLinear):
    """x."""
