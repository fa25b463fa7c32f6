"""Which settings mattered: a fANOVA over all trials, on the part that each of them learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from multitudes.tuning.study import quiet_optuna

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

FEWEST = 4  # trials that say anything
MOST = 1000  # trials that are looked at: more make it slow, and change nothing


def importances(trials: Sequence[FrozenTrial]) -> dict[str, float]:
    """Return the share of the variance that each setting explains, largest first.

    Trials that were ended early count too: their value on the smallest part is compared with that
    of the others. Settings that only some trials have are left out.

    Parameters
    ----------
    trials : sequence of FrozenTrial
    """
    from optuna import create_study, importance
    from optuna.trial import create_trial

    measured = [one for one in trials if one.intermediate_values and one.params][:MOST]
    common = set.intersection(*(set(one.params) for one in measured)) if measured else set()
    values = [one.intermediate_values[min(one.intermediate_values)] for one in measured]
    if len(measured) < FEWEST or max(values) == min(values) or not common:
        return {}
    with quiet_optuna():
        study = create_study(direction="maximize")
    for one, value in zip(measured, values, strict=True):
        study.add_trial(
            create_trial(
                params={name: one.params[name] for name in common},
                distributions={name: one.distributions[name] for name in common},
                value=value,
            )
        )
    found = importance.get_param_importances(
        study, evaluator=importance.FanovaImportanceEvaluator(seed=0)
    )
    return {name: float(share) for name, share in found.items()}
