"""DeepMIML: bags in, labels of bags and of single instances out."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone

from multitudes import store
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.groups.miml import DeepMIML, MIMLTraining, fit_network
from multitudes.store import registry
from tests.groups.miml.problems import N_LABELS, bagged, one_hot

QUICK = MIMLTraining(n_epochs=3)
THOROUGH = MIMLTraining(n_epochs=60, learning_rate=0.02, patience=60)


@pytest.fixture(scope="module")
def problem():
    return bagged()


@pytest.fixture(scope="module")
def unseen():
    return bagged(400, noise=0, random_state=9)


def fitted(problem, **settings):
    model = DeepMIML(**{"training": QUICK, **settings})
    return model.fit(problem.X, problem.groups, problem.group_labels)


@pytest.fixture(scope="module")
def model(problem):
    return fitted(problem, training=THOROUGH)


def assert_same_predictions(left, right):
    np.testing.assert_array_equal(left.labels, right.labels)
    np.testing.assert_array_equal(left.scores, right.scores)


# --- known answers


@pytest.mark.parametrize("loss", ["proportion", "presence", "counts"])
@pytest.mark.parametrize("label_embeddings", ["eagle", "eagle-0", None])
def test_one_instance_of_a_bag_decides_and_is_found(problem, unseen, loss, label_embeddings):
    """Half of the instances are noise: only the others can explain the labels of a bag."""
    model = fitted(problem, training=THOROUGH, loss=loss, label_embeddings=label_embeddings)
    assert model.score(unseen.X, one_hot(unseen.labels)) > 0.97
    assert model.score(unseen.X, unseen.group_labels, unseen.groups) > 0.97


def test_attention_is_on_the_instance_that_decides(model):
    bag = np.zeros((3, N_LABELS + 2), np.float32)
    bag[1, 2] = 1
    mask = model.attention(bag)
    assert mask.shape == (3, N_LABELS)
    np.testing.assert_allclose(mask.sum(axis=0), 3, rtol=1e-6)
    assert mask[:, 2].argmax() == 1
    e = model.tau * model.network_.label_embeddings[2, 2].item()
    assert mask[1, 2] == pytest.approx(3 * np.exp(e) / (np.exp(e) + 2), rel=1e-4)


def test_attention_of_a_bag_of_one_is_1(model):
    np.testing.assert_array_equal(model.attention(np.ones((1, N_LABELS + 2))), np.ones((1, 4)))


# --- equalities


def test_tau_0_is_plain_deep_miml(problem, unseen):
    plain = fitted(problem, label_embeddings=None)
    without = fitted(problem, tau=0)
    assert_same_predictions(plain.predict(unseen.X), without.predict(unseen.X))
    np.testing.assert_array_equal(without.attention(unseen.X[:5]), np.ones((5, N_LABELS)))


def test_tau_matters(problem, unseen):
    one, other = (fitted(problem, tau=tau).predict(unseen.X).scores for tau in (0, 3))
    assert (one != other).any()


def test_a_batch_equals_its_bags_one_by_one(model, unseen):
    whole = model.predict(unseen.X, unseen.groups, top_k=3)
    for group in range(10):
        rows = unseen.groups[:, [group]].toarray().ravel() > 0
        alone = model.predict(unseen.X[rows], sp.csr_array(np.ones((rows.sum(), 1))), top_k=3)
        np.testing.assert_array_equal(alone.labels[0], whole.labels[group])
        np.testing.assert_allclose(alone.scores[0], whole.scores[group], rtol=1e-5)


def test_single_instances_are_bags_of_one(model, unseen):
    alone = sp.csr_array(np.eye(len(unseen.X)))
    assert_same_predictions(model.predict(unseen.X), model.predict(unseen.X, alone))


def test_sparse_and_dense_features_agree(problem, unseen):
    dense = fitted(problem)
    sparse = fitted(problem._replace(X=sp.csr_array(problem.X)))
    left, right = dense.predict(unseen.X), sparse.predict(sp.csr_array(unseen.X))
    np.testing.assert_allclose(left.scores, right.scores, atol=1e-4)
    assert (left.labels[:, 0] == right.labels[:, 0]).mean() > 0.99


def test_groups_of_one_are_single_instances(unseen):
    one = fitted(unseen._replace(groups=None, group_labels=one_hot(unseen.labels)))
    alone = sp.csr_array(np.eye(len(unseen.X)))
    other = fitted(unseen._replace(groups=alone, group_labels=one_hot(unseen.labels)))
    assert_same_predictions(one.predict(unseen.X), other.predict(unseen.X))


# --- fit


def test_the_same_seed_gives_the_same_model(problem, unseen):
    first, again, other = (fitted(problem, random_state=s).predict(unseen.X) for s in (1, 1, 2))
    assert_same_predictions(first, again)
    assert (first.scores != other.scores).any()


def test_fit_leaves_the_random_numbers_of_the_caller_alone(problem):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fitted(problem)
    assert torch.equal(torch.rand(3), expected)


def test_train_embeddings_moves_them(problem):
    fixed, moved = (fitted(problem, train_embeddings=value).network_ for value in (False, True))
    own = np.asarray(fixed.label_embeddings)
    assert (own != moved.label_embeddings.detach().numpy()).any()
    given = fitted(problem, label_embeddings=own).network_.label_embeddings
    np.testing.assert_array_equal(given, own)


def test_embeddings_are_learned_without_the_held_out_bags(problem):
    """Own validation holds out nothing, the default holds out a tenth."""
    validation = (problem.X, problem.groups, problem.group_labels)
    all_of_it = DeepMIML(training=QUICK).fit(*validation, validation=validation)
    held_out = fitted(problem)
    one, other = (m.network_.label_embeddings.numpy() for m in (all_of_it, held_out))
    assert not np.array_equal(one, other)
    assert all_of_it.history_[0].validation_loss is not None
    assert held_out.history_[0].validation_loss is not None


def test_validation_is_the_mean_of_all_bags_however_many_fit_at_once(problem, monkeypatch):
    at_once = fitted(problem)
    monkeypatch.setattr(fit_network, "CELLS", 1)  # bag by bag
    for one, other in zip(fitted(problem).history_, at_once.history_, strict=True):
        assert one.validation_loss == pytest.approx(other.validation_loss, rel=1e-4)
        assert one.validation_precision == pytest.approx(other.validation_precision)


def test_no_share_no_validation(problem):
    training = MIMLTraining(n_epochs=3, validation_fraction=0)
    assert [e.validation_loss for e in fitted(problem, training=training).history_] == [None] * 3


def test_validation_on_single_instances(problem, unseen):
    model = DeepMIML(training=MIMLTraining(n_epochs=8, monitor="precision"))
    single = (unseen.X, None, one_hot(unseen.labels))
    model.fit(problem.X, problem.groups, problem.group_labels, validation=single)
    best = max(epoch.validation_precision for epoch in model.history_)
    assert model.score(unseen.X, one_hot(unseen.labels)) == pytest.approx(best)


def test_what_was_left_out_is_counted(problem):
    groups = sp.csr_array(sp.hstack([problem.groups, sp.csr_array((480, 2))]))
    labels = sp.csr_array(sp.vstack([problem.group_labels, sp.csr_array(np.eye(2, N_LABELS))]))
    model = fitted(problem._replace(groups=groups, group_labels=labels))
    assert (model.counts_.empty, model.counts_.empty_listed) == (2, 2)
    assert_same_predictions(model.predict(problem.X), fitted(problem).predict(problem.X))


def test_bags_without_labels_are_negatives_of_the_presence_loss(problem):
    """Whichever bag is held out, the mask must get along with what is left."""
    nothing = sp.csr_array((3, N_LABELS), dtype=np.float32)
    labels = sp.csr_array(sp.vstack([sp.csr_array(np.eye(1, N_LABELS)), nothing]))
    groups = sp.csr_array(np.eye(4))
    training = MIMLTraining(n_epochs=2, validation_fraction=0.25)
    for random_state in range(6):
        model = DeepMIML(loss="presence", training=training, random_state=random_state)
        model.fit(problem.X[:4], groups, labels)
        assert model.counts_.unlabeled == 3
        assert np.isfinite(model.history_[-1].loss)


# --- predict


def test_predictions_are_in_order_and_ties_go_to_the_smaller_id(problem):
    model = fitted(problem, label_embeddings=None)
    with torch.no_grad():
        for weights in model.network_.parameters():
            weights.zero_()
    found = model.predict(problem.X[:2], top_k=9)
    np.testing.assert_array_equal(found.labels, [[0, 1, 2, 3]] * 2)
    np.testing.assert_array_equal(found.scores, np.zeros((2, 4)))


def test_an_empty_group_has_no_labels(model, problem):
    groups = sp.csr_array(np.array([[1, 0], [1, 0]]))
    found = model.predict(problem.X[:2], groups, top_k=2)
    assert found.labels[1].tolist() == [-1, -1]
    assert np.isneginf(found.scores[1]).all()
    assert (found.labels[0] >= 0).all()


def test_no_instances_no_predictions(model, problem):
    assert model.predict(problem.X[:0]).labels.shape == (0, N_LABELS)


def test_threshold(model, unseen):
    found = model.predict(unseen.X, threshold=1.0)
    assert (found.scores[found.labels >= 0] >= 1).all()
    assert (found.labels < 0).any()


# --- contract


@pytest.mark.parametrize("label_embeddings", ["eagle", None, np.eye(4, 6, dtype=np.float32)])
@pytest.mark.parametrize("train_embeddings", [False, True])
def test_stored_and_loaded_it_is_the_same(
    problem, tmp_path, monkeypatch, label_embeddings, train_embeddings
):
    monkeypatch.setitem(registry._HOMES, "deep-miml", "multitudes.groups.miml:DeepMIML")
    model = fitted(
        problem,
        label_embeddings=label_embeddings,
        train_embeddings=train_embeddings,
        hidden_size=5,
    )
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model")
    assert_same_predictions(
        model.predict(problem.X, problem.groups), again.predict(problem.X, problem.groups)
    )
    np.testing.assert_array_equal(model.attention(problem.X[:3]), again.attention(problem.X[:3]))
    assert (again.history_, again.counts_) == (model.history_, model.counts_)
    settings = {k: v for k, v in again.get_params().items() if k != "label_embeddings"}
    assert settings == {k: v for k, v in model.get_params().items() if k in settings}
    again.fit(problem.X, problem.groups, problem.group_labels)


def test_clone_keeps_the_settings():
    model = DeepMIML(tau=2.0, loss="counts", training=QUICK)
    assert clone(model).get_params() == model.get_params()


def test_predict_before_fit_is_refused():
    for ask in (DeepMIML().predict, DeepMIML().attention):
        with pytest.raises(NotFittedError, match="this DeepMIML has not learned anything yet"):
            ask(np.ones((1, 2)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_concepts": 0}, "n_concepts must be a whole number >= 1, got 0"),
        ({"hidden_size": 1.5}, "hidden_size must be a whole number >= 1, got 1.5"),
        ({"tau": -1}, "tau must be a number >= 0, got -1"),
        ({"tau": float("nan")}, "tau must be a number >= 0, got nan"),
        ({"loss": "proportions"}, "no loss 'proportions': did you mean 'proportion'?"),
        ({"label_embeddings": "pifa"}, "label_embeddings must be 'eagle'"),
        ({"training": {"n_epochs": 3}}, "training must be a MIMLTraining"),
        ({"device": "abacus"}, "device must be 'cpu', 'cuda'"),
    ],
)
def test_bad_settings_are_refused(problem, settings, message):
    with pytest.raises(ConfigError, match=message):
        fitted(problem, **settings)


def test_bad_features_are_refused(model):
    with pytest.raises(DataError, match="X has 3 features, but the model is expecting 6 features"):
        model.predict(np.ones((1, 3)))
    with pytest.raises(DataError, match="X has 2 rows and groups has 1"):
        model.predict(np.ones((2, 6)), sp.csr_array(np.ones((1, 1))))
    with pytest.raises(DataError, match="groups must be a .* got list"):
        model.predict(np.ones((2, 6)), [[1], [1]])


def test_bad_validation_is_refused(problem):
    model = DeepMIML(training=QUICK)
    data = (problem.X, problem.groups, problem.group_labels)
    with pytest.raises(DataError, match=r"validation must be \(X, groups, group_labels\)"):
        model.fit(*data, validation=data[:2])
    with pytest.raises(DataError, match="X has 5 features, but the model is expecting 6 features"):
        model.fit(*data, validation=(problem.X[:, :5], *data[1:]))
    with pytest.raises(DataError, match="validation has 3 labels, the training data 4"):
        model.fit(*data, validation=(*data[:2], problem.group_labels[:, :3]))
    assert not hasattr(model, "network_")


# --- torch


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()


def test_groups_import_no_torch():
    assert run_python("import sys, multitudes.groups; print('torch' in sys.modules)") == "False"


def test_without_torch_the_pip_line_is_shown():
    code = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
from multitudes.errors import MissingExtraError
try:
    import multitudes.groups.miml
except MissingExtraError as error:
    print(error)
"""
    assert run_python(code) == "torch is not installed: run  pip install 'multitudes[deep]'"


def test_the_papers_network_with_a_soft_mask_is_the_default():
    assert DeepMIML().get_params(deep=False) == {
        "n_concepts": 4, "tau": 0.1, "label_embeddings": "eagle", "train_embeddings": False,
        "hidden_size": None, "loss": "proportion", "device": None, "random_state": 0,
        "training": MIMLTraining(
            n_epochs=100, batch_size=64, learning_rate=0.001, weight_decay=0.0,
            validation_fraction=0.1, patience=10, monitor="loss",
        ),
    }  # fmt: skip


def test_embeddings_that_were_given_come_back_from_disk(problem, tmp_path):
    own = np.random.default_rng(0).normal(size=(N_LABELS, problem.X.shape[1])).astype(np.float32)
    store.save(fitted(problem, label_embeddings=own), tmp_path / "model")
    again = store.load(tmp_path / "model")
    np.testing.assert_array_equal(again.label_embeddings, own)


def test_an_infinite_count_is_told_with_its_group_and_label(problem):
    counts = sp.csr_array(problem.group_labels, dtype=np.float64, copy=True)
    row = 2
    counts.data[counts.indptr[row]] = np.inf
    label = counts.indices[counts.indptr[row]]
    with pytest.raises(DataError, match=f"got inf for group {row} and label {label}"):
        DeepMIML(training=QUICK).fit(problem.X, problem.groups, counts)
