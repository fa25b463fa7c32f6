"""A network of one row, and its accuracy: on validation instances, or on test instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.miml.problem import Problem, nearest
from multitudes.groups.miml import DeepMIML, MIMLTraining

Settings = Mapping[str, Any]


def trained(problem: Problem, settings: Settings, seed: int) -> DeepMIML:
    """A network of the epoch that is best on the validation instances."""
    import torch

    torch.set_num_threads(1)
    training = MIMLTraining(
        n_epochs=settings["n_epochs"],
        patience=settings["n_epochs"],
        batch_size=settings["batch_size"],
        learning_rate=settings["learning_rate"],
        monitor="precision",
    )
    choice = settings["label_embeddings"]
    model = DeepMIML(
        n_concepts=settings["n_concepts"],
        hidden_size=settings["hidden_size"],
        loss=settings["loss"],
        tau=settings["tau"],
        label_embeddings=None if choice is None else problem.embeddings(choice),
        train_embeddings=settings.get("train_embeddings", False),
        training=training,
        device="cpu",
        random_state=seed,
    )
    train, validation = problem.train, problem.validation
    single = (validation.X, None, validation.Y)
    return model.fit(train.X, train.groups, train.Y, validation=single)


def searched(problem: Problem, settings: Settings, seed: int) -> dict[str, float]:
    """Accuracy on the validation instances, in percent; nothing is tested."""
    return validated(trained(problem, settings, seed))


def measured(problem: Problem, settings: Settings, seed: int) -> dict[str, float]:
    """Accuracy on the test part, in percent, and the settings that the search gave."""
    if settings.get("alone"):
        return {"accuracy": nearest(problem.embeddings(settings["label_embeddings"]), problem.test)}
    model = trained(problem, settings, seed)
    test = problem.test
    found = {"accuracy": 100 * model.score(test.X, test.Y)}
    if problem.test_bags is not None:
        bags = problem.test_bags
        found["accuracy of bags"] = 100 * model.score(bags.X, bags.Y, bags.groups)
    return {
        **found,
        "learning rate": settings["learning_rate"],
        "tau": settings["tau"],
        **validated(model),
    }


def validated(model: DeepMIML) -> dict[str, float]:
    """The best epoch, counted from 1, and its accuracy on the validation instances."""
    found = [epoch.validation_precision or 0.0 for epoch in model.history_]
    best = max(found)
    return {"validation accuracy": 100 * best, "epoch": found.index(best) + 1}
