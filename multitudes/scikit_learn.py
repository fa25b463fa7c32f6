"""What is taken from scikit-learn and SciPy, without what they import and we never use.

``sklearn.base`` imports joblib, narwhals, several parts of SciPy and, if there is one, pandas;
``scipy.sparse`` imports all that numpy has, such as its tests. It is for functions that estimators
of this library do not call. Together it takes longer to import than everything else, and 130 MB.
A version of scikit-learn that needs more of it while it is imported, as 1.6 does, gets all of it.
"""

from __future__ import annotations

import numpy  # noqa: F401  it is there before its placeholders

from multitudes.placeholders import import_without, placeholders

__all__ = [
    "BaseEstimator",
    "NotFittedError",
    "TargetTags",
    "TransformerMixin",
    "check_feature_names",
    "clone",
    "get_tags",
    "sparse",
]

UNUSED_OF_NUMPY = ("numpy.f2py", "numpy.testing")
UNUSED = (
    "joblib",
    "narwhals",
    "narwhals.stable",
    "narwhals.stable.v2",
    "pandas",
    "scipy.linalg",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
    "sklearn.utils.parallel",
)

with placeholders(*UNUSED_OF_NUMPY):
    from scipy import sparse

    import_without(("sklearn.base", "sklearn.utils.validation"), UNUSED)
    from sklearn.base import BaseEstimator, TransformerMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import TargetTags, get_tags
    from sklearn.utils.validation import _check_feature_names as check_feature_names
