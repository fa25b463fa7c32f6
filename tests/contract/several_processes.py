"""Run as several processes by test_several_processes: trains all models that can be so trained.

Writes what each process ended with, and, of PRIME, the instances of each batch it was given.
"""

import os
import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed

from multitudes.deep.training import TrainingConfig
from multitudes.encoder import prime
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.network import PrimeNetwork
from multitudes.encoder.prime import Prime
from multitudes.encoder.prototypes.network import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.groups import DeepMIML, MIMLTraining
from multitudes.seq2set import OTSeq2Set
from multitudes.seq2set.fitting import Seq2SetTraining
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.words.batches import BatchConfig
from tests.encoder.prime_problems import SMALL, things
from tests.groups.miml.problems import bagged

EPOCHS = 3
# Adam divides by the size of a gradient: where that is all rounding (a bias that attention does not
# feel, say), a weight moves by a part of the learning rate. Other numbers of threads do the same.
LEARNING_RATE = 2e-4
# Neither size is a multiple of 2 or 4 processes, and the last batch of PRIME has 5 instances.
BATCH = 35
DROPOUT = {"dropout": 0.1, "source_dropout": 0.5}
seeds = set()  # of the random numbers of the last PRIME's steps
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")


def backbone_without_dropout(*args, **kwargs):
    """Which texts a process encodes must not matter."""
    backbone = load_backbone(*args, **kwargs)
    for name in DROPOUTS:
        setattr(backbone.model.config, name, 0.0)
    for module in backbone.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return backbone


def texts_and_labels(n_labels=36):
    """Texts of one to three labels, the instances of the last labels in one batch or two."""
    texts, Y, names = things(n_each=5)
    rng = np.random.default_rng(0)
    Y = Y.tolil()
    for row in rng.choice(Y.shape[0], 60, replace=False):
        Y[row, rng.integers(n_labels)] = 1
    return texts, Y.tocsr(), names


def fit_prime(checkpoint=None, *, stop_at=None, prototypes=None, **training):
    """A PRIME with all its parts, and the rows of each batch that its network was given."""
    seen, forward = [], PrimeNetwork.forward
    seeds.clear()

    def noted(self, batch):
        if stop_at is not None and len(seen) == stop_at:
            raise ZeroDivisionError
        seen.append(batch.instances.tolist())
        seeds.add(torch.initial_seed())
        return forward(self, batch)

    PrimeNetwork.forward, prime.load_backbone = noted, backbone_without_dropout
    try:
        texts, Y, names = texts_and_labels()
        settings = {"dropout": 0.0, "source_dropout": 0.0, "centroid_leak": "drop"}
        model = Prime(
            backbone=SMALL,
            prototypes=PrototypeConfig(**settings | (prototypes or {})),
            sampler=SamplerConfig(batch_size=BATCH, positives=2, keep_last=True),
            training=TrainingConfig(
                **{"epochs": EPOCHS, "learning_rate": LEARNING_RATE, "device": "cpu"} | training
            ),
        )
        model.fit(texts, Y, label_texts=names, validation=(texts[::7], Y[::7]),
                  checkpoint=checkpoint)  # fmt: skip
    finally:
        PrimeNetwork.forward, prime.load_backbone = forward, load_backbone
    return model, seen


def fit_seq2set(objective="set", **settings):
    texts, Y, names = texts_and_labels()
    model = OTSeq2Set(
        network=NetworkConfig(hidden=16, dropout=0.0, kernels=(2, 3), strides=(1, 2)),
        batches=BatchConfig(batch_size=BATCH),
        training=Seq2SetTraining(
            epochs=EPOCHS, learning_rate=LEARNING_RATE, device="cpu", **settings
        ),
        objective=objective,
    )
    return model.fit(texts, Y, label_texts=names)


def fit_miml(loss="proportion"):
    problem = bagged(140)
    training = MIMLTraining(n_epochs=EPOCHS, batch_size=11, learning_rate=0.03)
    model = DeepMIML(training=training, device="cpu", loss=loss)
    return model.fit(problem.X, problem.groups, problem.group_labels)


def state_of(network, prefix):
    return {f"{prefix}/{name}": value.numpy() for name, value in network.state_dict().items()}


def everything(*, few=False):
    """(arrays, batches) of all models, or of one kind each."""
    whole, seen = fit_prime()
    others = {"set": fit_seq2set().network_, "proportion": fit_miml().network_}
    if not few:
        host = {"label_memory": "host", "centroids": "exact"}
        others |= {
            "clipped": fit_prime(accumulate=2, clip=0.5)[0].network_,
            "exact, host": fit_prime(prototypes=host, epochs=2)[0].network_,
            "sequence": fit_seq2set("sequence", accumulate=2).network_,
            **{loss: fit_miml(loss).network_ for loss in ("presence", "counts")},
        }
    arrays = state_of(whole.network_, "prime")
    arrays["label_vectors"] = whole.label_vectors_
    epochs = whole.history_.epochs
    metrics = [[e.metrics["P@1"], e.metrics["R@100"], e.terms["loss"]] for e in epochs]
    arrays["history"] = np.array(metrics)
    for name, network in others.items():
        arrays |= state_of(network, name)
    return arrays, seen


def with_dropout():
    """The losses of each epoch, and the label vectors, of a PRIME that draws random numbers."""
    model, _ = fit_prime(prototypes=DROPOUT)
    losses = np.array([epoch.terms["loss"] for epoch in model.history_.epochs])
    return {"losses": losses, "vectors": model.label_vectors_, "seeds": np.array(sorted(seeds))}


def resumed(folder):
    """A PRIME that was stopped in the middle of its second epoch, and went on."""
    saving = {"checkpoint_minutes": 0, "log_every": 1}
    try:
        fit_prime(folder / "stopped", stop_at=9, **saving)
    except ZeroDivisionError:
        return fit_prime(folder / "stopped", **saving)[0].label_vectors_
    raise AssertionError("it was not stopped")


def main(folder):
    few = int(os.environ["WORLD_SIZE"]) > 2
    arrays, seen = everything(few=few)
    arrays["resumed"] = arrays["label_vectors"] if few else resumed(folder)
    rank = torch.distributed.get_rank()
    np.savez(folder / f"{rank}.npz", **arrays, seen=np.array(seen, dtype=object))
    np.savez(folder / f"dropout-{rank}.npz", **with_dropout())
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(Path(sys.argv[1]))
