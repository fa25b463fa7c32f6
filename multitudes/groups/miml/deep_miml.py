"""DeepMIML: a network that learns from labeled bags, and labels bags and single instances."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
import torch

from multitudes.data.groups import GroupCounts
from multitudes.deep.training.world import World
from multitudes.deep.weights import check_weights
from multitudes.errors import ConfigError, DataError, StoreError, suggestion
from multitudes.estimator import Estimator
from multitudes.groups.miml.bag_run import Epoch, checkpoint_of
from multitudes.groups.miml.bags import (
    Bags,
    as_tensor,
    bags_to_learn_from,
    checked_rows,
    unlabeled_bags,
)
from multitudes.groups.miml.fit_network import MIMLTraining, bag_logits, fit_network
from multitudes.groups.miml.label_embeddings import EAGLE, check_choice, embeddings_of
from multitudes.groups.miml.losses import LOSSES
from multitudes.groups.miml.network import MIMLNetwork
from multitudes.store import State, checks
from multitudes.types import FloatArray, Predictions, Sparse, blank_lists
from multitudes.validation import checked_count, checked_number

GIVEN = "given"  # in a stored model: embeddings of the user's own
ON_LOAD = ("history", "counts", "n_features", "n_labels")  # stored beside the settings


class DeepMIML(Estimator):
    """Deep-MIML and its co-attention form, for label sets of ordinary size.

    A bag's logit of a label is the largest over its instances and their concepts (Eq. 7 of the
    paper), each instance weighted by a mask M = g softmax(tau X L^T) over the bag, where L are
    label embeddings that EAGLE learns from the bags. A bag of one has the mask 1: single instances
    are labeled by the network alone, the mask only decides which instance of a bag learns a label.

    Parameters
    ----------
    n_concepts : int
        Concepts of each label.
    tau : float
        Hardness of the mask; 0 is plain Deep-MIML. It multiplies inner products with X as it is,
        so a good value depends on the scale of the features. The paper does not give its value;
        the default is a soft mask, since hard ones were worse wherever they were tried.
    label_embeddings : 'eagle', 'eagle-0', None or array (n_labels, n_features)
        L: by Algorithm 1 with 20 steps or with none, no mask at all, or your own.
    train_embeddings : bool
        Train L with the network.
    hidden_size : int, optional
        Width of an FC + ReLU layer in front of the concepts; None for none.
    loss : str
        'proportion', 'presence' or 'counts'; `multitudes.groups.miml.losses` says what each is
        for.
    training : MIMLTraining
        Epochs, batches, learning rate, early stopping.
    device : str, optional
        Where the network lives; by default a GPU where there is one.
    random_state : int
        Of the first weights, the order of the bags and the held-out bags.

    Attributes
    ----------
    network_ : MIMLNetwork
    history_ : list of Epoch
    counts_ : GroupCounts
        What the training data held, and what of it could not be learned from.
    n_labels_, n_features_in_ : int

    References
    ----------
    Shen, Yu, Sanghavi and Dhillon, Extreme Multi-label Classification from Aggregated Labels,
    ICML 2020, section 6. Feng and Zhou, Deep MIML Network, AAAI 2017.
    """

    fitted_attribute = "network_"

    def __init__(
        self,
        *,
        n_concepts: int = 4,
        tau: float = 0.1,
        label_embeddings: Any = EAGLE,
        train_embeddings: bool = False,
        hidden_size: int | None = None,
        loss: str = "proportion",
        training: MIMLTraining = MIMLTraining(),
        device: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_concepts = n_concepts
        self.tau = tau
        self.label_embeddings = label_embeddings
        self.train_embeddings = train_embeddings
        self.hidden_size = hidden_size
        self.loss = loss
        self.training = training
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        groups: Any,
        group_labels: Any,
        *,
        validation: tuple[Any, Any, Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn from labeled bags; returns self.

        Parameters
        ----------
        X : CSR or array (n_instances, n_features)
        groups : CSR (n_instances, n_groups) or None
            1 where an instance is in a group, it may be in several; None: each is a bag by itself.
        group_labels : CSR (n_groups, n_labels)
            How often each group lists a label, or 1 where it does.
        validation : (X, groups, group_labels), optional
            Bags for early stopping, or single instances with groups None. By default a share of
            the training bags is held out; an instance may then be on both sides if it is in
            several groups.
        checkpoint : path, optional
            Folder to save to now and then; a training found there goes on where it stopped.

        Notes
        -----
        Nothing is learned from groups without instances nor, with the losses 'proportion' and
        'counts', from groups without labels; `counts_` says how many there were. Labels that no
        group lists are only ever ranked low.
        """
        self._check_settings()
        loss = LOSSES[self.loss]()
        bags, counts = bags_to_learn_from(
            checked_rows(X), groups, group_labels, needs_labels=loss.needs_labels
        )
        if validation is None:
            bags, held_out = self._held_out(bags, self.training.validation_fraction)
        else:
            held_out = self._checked_validation(validation, bags)
        world = World.join(self._device())
        network = self._network(bags).to(world.device)
        saved = None
        if checkpoint is not None:
            saved = checkpoint_of(checkpoint, network, bags, held_out, self._identity())
        history = fit_network(
            network,
            bags,
            loss,
            validation=held_out,
            training=self.training,
            random_state=self.random_state,
            checkpoint=saved,
            world=world,
        )
        self._set_learned(network, history, counts)
        return self

    def predict(
        self, X: Any, groups: Any = None, *, top_k: int = 5, threshold: float | None = None
    ) -> Predictions:
        """Return the best labels of each group; without groups, of each instance.

        Parameters
        ----------
        X : CSR or array (n_instances, n_features)
        groups : CSR (n_instances, n_groups), optional
        top_k : int
        threshold : float, optional
            Leave out labels whose score is lower.

        Returns
        -------
        Predictions
            Scores are the pooled logits; a group without instances has no labels.
        """
        self.check_fitted()
        top_k = min(checked_count(top_k, "top_k"), self.n_labels_)
        X = checked_rows(X, n_features=self.n_features_in_)
        bags = unlabeled_bags(X, groups, self.n_labels_)
        labels, scores = blank_lists(len(bags), top_k)
        full = np.flatnonzero(bags.sizes)
        if len(full):
            logits = bag_logits(self.network_, bags.take(full))  # (full bags, labels)
            order = np.argsort(-logits, axis=1, kind="stable")[:, :top_k]  # ties: smaller id
            labels[full], scores[full] = order, np.take_along_axis(logits, order, axis=1)
        return Predictions(labels, scores, self.n_labels_).above(threshold)

    @torch.no_grad()
    def attention(self, bag: Any) -> FloatArray:
        """Return the mask of one bag: how much of each label its instances learn.

        Parameters
        ----------
        bag : CSR or array (n_instances, n_features)
            The instances of the bag.

        Returns
        -------
        float32 array (n_instances, n_labels)
            Each column sums to n_instances.
        """
        self.check_fitted()
        device = next(self.network_.parameters()).device
        X = as_tensor(checked_rows(bag, n_features=self.n_features_in_)).to(device)
        members = torch.arange(X.shape[0], device=X.device).unsqueeze(0)  # (1, g)
        mask: FloatArray = self.network_.attention(X, members)[0].cpu().numpy()
        return mask

    def score(self, X: Any, y: Sparse, groups: Any = None) -> float:
        """Return the precision at 1 on single instances, or on groups with their labels as y."""
        return self._precision_at_1(self.predict(X, groups, top_k=1), y)

    def to_state(self) -> State:
        """Return the settings, the history and the weights; the device is chosen again on load."""
        self.check_fitted()
        config = self.get_params(deep=False)
        del config["device"]
        if not isinstance(self.label_embeddings, str | None):
            config["label_embeddings"] = GIVEN
        config |= {
            "training": self.training.to_dict(),
            "history": [list(epoch) for epoch in self.history_],
            "counts": vars(self.counts_),
            "n_features": self.n_features_in_,
            "n_labels": self.n_labels_,
        }
        arrays = {key: value.cpu().numpy() for key, value in self.network_.state_dict().items()}
        return State("deep-miml", config, arrays)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check settings, and the weights against them."""
        checks.names(state, arrays=state.arrays)
        settings = checks.parameters(state, cls, without=("device",), beside=ON_LOAD)
        n_features = checks.count(state, "n_features", at_least=1)
        n_labels = checks.count(state, "n_labels", at_least=1)
        training = checks.settings(MIMLTraining, settings.get("training"), "training")
        if settings.get("label_embeddings") == GIVEN:
            settings["label_embeddings"] = None
        model = cls(**settings | {"training": training})
        model._check_settings()
        checks.numbers(state.config["counts"], "counts")
        if not isinstance(state.config["history"], list):
            raise StoreError("its history must be a list of epochs")
        for epoch in state.config["history"]:
            checks.numbers(epoch, "history", n=len(Epoch._fields))
        embedded = "label_embeddings" in state.arrays
        check_weights(
            state,
            lambda: model._new_network(
                n_features, n_labels, torch.empty(n_labels, n_features) if embedded else None
            ),
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted model again."""
        config = dict(state.config)
        learned = {key: config.pop(key) for key in ON_LOAD}
        # Arrays may be read-only maps of the file, and torch wants tensors it may write to.
        weights = {key: torch.from_numpy(np.array(array)) for key, array in state.arrays.items()}
        embeddings = weights.get("label_embeddings")
        if config["label_embeddings"] == GIVEN:
            config["label_embeddings"] = None if embeddings is None else embeddings.numpy().copy()
        config["training"] = MIMLTraining.from_dict(config["training"])
        model = cls(**config)
        network = model._new_network(learned["n_features"], learned["n_labels"], embeddings)
        network.load_state_dict(weights)
        history = [Epoch(*epoch) for epoch in learned["history"]]
        model._set_learned(network.to(model._device()), history, GroupCounts(**learned["counts"]))
        return model

    def _identity(self) -> dict[str, Any]:
        """Return the settings that training depends on, beside data and first weights."""
        settings: dict[str, Any] = self.get_params(deep=False)
        del settings["device"], settings["label_embeddings"]
        settings["training"] = self.training.to_dict()
        return settings

    def _network(self, bags: Bags) -> MIMLNetwork:
        """Return a network with initial weights, and the label embeddings that the bags give."""
        embeddings = None
        if self.tau != 0:
            embeddings = embeddings_of(bags, self.label_embeddings)
        with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
            torch.manual_seed(self.random_state)
            return self._new_network(
                int(bags.X.shape[1]),
                int(bags.group_labels.shape[1]),
                None if embeddings is None else torch.from_numpy(embeddings),
            )

    def _new_network(
        self, n_features: int, n_labels: int, label_embeddings: torch.Tensor | None
    ) -> MIMLNetwork:
        return MIMLNetwork(
            n_features,
            n_labels,
            n_concepts=self.n_concepts,
            hidden_size=self.hidden_size,
            label_embeddings=label_embeddings,
            tau=self.tau,
            train_embeddings=self.train_embeddings,
        )

    def _held_out(self, bags: Bags, share: float) -> tuple[Bags, Bags | None]:
        """Hold out a share of the bags for validation; None if that is less than one bag."""
        n_held_out = round(share * len(bags))
        if n_held_out == 0:
            return bags, None
        order = np.random.default_rng(self.random_state).permutation(len(bags))
        held_out, kept = np.split(order, [n_held_out])
        return bags.take(np.sort(kept)), bags.take(np.sort(held_out))

    def _checked_validation(self, validation: Any, bags: Bags) -> Bags:
        if not isinstance(validation, tuple) or len(validation) != 3:
            raise DataError(
                "validation must be (X, groups, group_labels), with groups None for single "
                f"instances, got {type(validation).__name__}"
            )
        X, groups, group_labels = validation
        found, _ = bags_to_learn_from(
            checked_rows(X, n_features=bags.X.shape[1]),
            groups,
            group_labels,
            needs_labels=LOSSES[self.loss].needs_labels,
        )
        n_labels, given = bags.group_labels.shape[1], found.group_labels.shape[1]
        if given != n_labels:
            raise DataError(f"validation has {given:,} labels, the training data {n_labels:,}")
        return found

    def _device(self) -> torch.device:
        has_gpu = torch.cuda.is_available()
        try:
            device = torch.device(self.device or ("cuda" if has_gpu else "cpu"))
        except RuntimeError as error:
            raise ConfigError(
                f"device must be 'cpu', 'cuda' or another that torch knows, got {self.device!r}"
            ) from error
        if device.type == "cuda" and not has_gpu:
            raise ConfigError(f"device is {self.device!r}, but torch finds no GPU: use 'cpu'")
        return device

    def _set_learned(self, network: MIMLNetwork, history: list[Epoch], counts: GroupCounts) -> None:
        self.network_, self.history_, self.counts_ = network.eval(), history, counts
        self.n_labels_ = network.n_labels
        self.n_features_in_ = (network.hidden or network.concepts).in_features

    def _check_settings(self) -> None:
        checked_count(self.n_concepts, "n_concepts")
        checked_count(self.random_state, "random_state", at_least=0)
        if self.hidden_size is not None:
            checked_count(self.hidden_size, "hidden_size")
        checked_number(self.tau, "tau", at_least=0)
        if self.loss not in LOSSES:
            raise ConfigError(f"there is no loss {self.loss!r}: {suggestion(self.loss, LOSSES)}")
        if not isinstance(self.training, MIMLTraining):
            raise ConfigError(f"training must be a MIMLTraining, got {self.training!r}")
        check_choice(self.label_embeddings)
        self._device()
