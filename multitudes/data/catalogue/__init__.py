"""A generated corpus whose labels, senses and groups are known: `make_catalogue`."""

from multitudes.data.catalogue.corpus import Catalogue, make_catalogue

__all__ = ["Catalogue", "make_catalogue"]
