"""How alike the instances of a group are, and what that means for learning (Theorem 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data.dataset_parts import check_groups
from multitudes.errors import DataError
from multitudes.validation import checked_features, checked_number, checked_sparse


@dataclass(frozen=True)
class WithinSpread:
    """The spread of features between groups and within them, as in section 5 of the paper.

    An instance is modeled as the center of its group plus a deviation of its own, both normally
    distributed around 0, with the same variance in every feature.

    Parameters
    ----------
    sigma_1 : float
        Standard deviation of a feature of the groups' centers.
    sigma_2 : float
        Standard deviation of a feature within a group.
    group_size : float
        Instances per group, in the mean; groups without instances are left out.
    n_instances, n_features : int
    """

    sigma_1: float
    sigma_2: float
    group_size: float
    n_instances: int
    n_features: int

    @property
    def ratio(self) -> float:
        """sigma_2 / sigma_1: 0 for groups of equal instances, infinite for random groups."""
        if self.sigma_1 == 0:
            return math.inf if self.sigma_2 else math.nan
        return self.sigma_2 / self.sigma_1

    @property
    def share(self) -> float:
        """The part of the variance that lies within groups, from 0 to 1."""
        total = self.sigma_1**2 + self.sigma_2**2
        return self.sigma_2**2 / total if total else math.nan

    @property
    def price(self) -> float:
        """By which factor the error grows if labels are not assigned to instances.

        The bound (4) on the error of learning from whole groups over the rate of learning with
        every instance's labels known, the first term of (5): sqrt(g (s1^2 + s2^2) / (g s1^2 +
        s2^2)). From 1, nothing to gain, to the root of the group size. Noise and the number of
        instances cancel out.
        """
        g, between, within = self.group_size, self.sigma_1**2, self.sigma_2**2
        if not between + within:
            return 1.0
        return math.sqrt(g * (between + within) / (g * between + within))

    def bounds(self, *, noise: float = 1.0) -> Bounds:
        """The bounds of Theorem 1, with every constant it leaves open set to 1.

        Parameters
        ----------
        noise : float
            sigma_e, the standard deviation of what features do not explain.
        """
        noise = checked_number(noise, "noise", at_least=0)
        g, between, within = self.group_size, self.sigma_1**2, self.sigma_2**2
        total = between + within
        if not total:
            raise DataError("all instances have the same features: Theorem 1 says nothing then")
        p = self.n_instances / (g * self.n_features)
        without = noise / math.sqrt(p * (g * between + within))
        unclear = noise**2 / total
        return Bounds(
            without_assignment=without,
            known_assignment=noise / math.sqrt(p * g * total),
            bias=math.sqrt(unclear + without**2) * math.sqrt(unclear + 1),
        )


@dataclass(frozen=True)
class Bounds:
    """The two sides of Theorem 1; constants are unknown, so compare data sets, not the sides.

    Parameters
    ----------
    without_assignment : float
        (4): the error of learning from whole groups.
    known_assignment : float
        First term of (5): the error if it were known which instance has which label.
    bias : float
        Second term of (5): what wrong assignments add at most.
    """

    without_assignment: float
    known_assignment: float
    bias: float

    @property
    def with_assignment(self) -> float:
        """(5): the error of learning from labels that were assigned."""
        return self.known_assignment + self.bias


def within_spread(X: Any, groups: Any) -> WithinSpread:
    """Estimate how much instances differ within groups, and groups from each other.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
        Features, as the model sees them.
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group. Instances in no group do not count, those in several
        count in each.

    Notes
    -----
    The estimate of one-way analysis of variance with random effects, summed over features: the
    mean square within groups is sigma_2^2, that between them sigma_2^2 + n_0 sigma_1^2, where n_0
    is the group size corrected for uneven groups. Unlike the plain variance of group means it is
    not fooled by small groups, whose means differ by chance. Where it comes out negative, sigma_1
    is 0.
    """
    X = checked_features(X)
    groups = checked_sparse(groups, name="groups", axes="(n_instances, n_groups)")
    groups = groups.astype(np.float32)
    check_groups(groups, None)
    if X.shape[0] != groups.shape[0]:
        raise DataError(
            f"X has {X.shape[0]:,} rows and groups has {groups.shape[0]:,}: they must describe the "
            "same instances"
        )
    sizes = np.asarray(groups.sum(axis=0), np.float64).ravel()
    n, n_groups = sizes.sum(), int((sizes > 0).sum())
    if n_groups < 2 or n == n_groups:
        raise DataError(
            f"spread within groups needs two groups, and one of two instances; got {n_groups:,} "
            f"groups of {n:,.0f} instances"
        )
    weights = np.asarray(groups.sum(axis=1), np.float64).ravel()
    squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel() @ weights
    sums = sp.csr_array(groups.T @ X)  # (n_groups, n_features)
    centers = np.asarray(sums.multiply(sums).sum(axis=1), np.float64).ravel()
    explained = (centers[sizes > 0] / sizes[sizes > 0]).sum()
    overall = np.square(np.asarray(sums.sum(axis=0), np.float64)).sum() / n
    within = max(squares - explained, 0.0) / (n - n_groups)
    between = (explained - overall) / (n_groups - 1)
    corrected_size = (n - np.square(sizes).sum() / n) / (n_groups - 1)
    d = max(int(X.shape[1]), 1)
    return WithinSpread(
        sigma_1=math.sqrt(max(between - within, 0.0) / corrected_size / d),
        sigma_2=math.sqrt(within / d),
        group_size=float(n / n_groups),
        n_instances=int(n),
        n_features=d,
    )
