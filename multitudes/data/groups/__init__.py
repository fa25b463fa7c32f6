"""Groups of instances that share labels: as matrices, and in files."""

from multitudes.data.groups.matrices import (
    GroupCounts,
    memberships,
    merge_labels,
    random_groups,
    without_groups_of,
)

__all__ = ["GroupCounts", "memberships", "merge_labels", "random_groups", "without_groups_of"]
