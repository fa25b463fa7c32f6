"""Prime on the embedded catalogue: learns, predicts, explains, takes new labels, is saved."""

import copy
import dataclasses
import re
import warnings

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from multitudes.deep.training import TrainingConfig
from multitudes.encoder import Prime
from multitudes.encoder.backbone.embedding import embed
from multitudes.encoder.classifier import ClassifierConfig
from multitudes.encoder.prototypes.network import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.errors import ConfigError, CutTextsWarning, NotFittedError
from multitudes.features import TfidfFeatures
from multitudes.metrics import precision_at_k
from multitudes.store import load, save
from tests.encoder.prime_problems import (
    BATCH,
    QUICK,
    SMALL,
    colors,
    epochs,
    lines,
    prime,
    things,
    weights,
)


@pytest.fixture(scope="module")
def data():
    return lines()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder of the finished training behind `fitted`."""
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def fitted(data, run):
    train, _ = data
    model = prime(keep_instances=True)
    return model.fit(train.texts, train.Y, label_texts=train.label_names, checkpoint=run)


@pytest.fixture(scope="module")
def tiny():
    texts, Y, names = colors()
    return prime(training=epochs(2)).fit(texts, Y, label_texts=names)


def in_float32(model):
    """A copy that predicts in float32, to compare numbers; the default may be bf16."""
    return copy.deepcopy(model).to(precision="float32")


def computes_in(model):
    """The number format of the weights that predicted last."""
    return next(model._encoder.backbone.parameters()).dtype


def precision(found, Y):
    return precision_at_k(found, Y, k=1)


# --- learning


def test_beats_tfidf_nearest_labels_and_the_encoder_it_started_from(data, fitted):
    train, test = data
    found = precision(fitted.predict(test.texts, top_k=1), test.Y)
    words = TfidfFeatures().fit(train.texts)
    likeness = words.transform(test.texts) @ words.transform(train.label_names).T
    nearest = likeness.toarray().argmax(axis=1)
    by_words = test.Y.toarray()[np.arange(len(nearest)), nearest].mean()
    frozen = prime(training=epochs(1, learning_rate=1e-12))
    frozen.fit(train.texts, train.Y, label_texts=train.label_names)
    untrained = precision(frozen.predict(test.texts, top_k=1), test.Y)
    assert found > 0.45
    assert found > by_words + 0.1
    assert found > untrained + 0.1


def test_fit_returns_self_and_counts_what_is_unusual(fitted):
    assert fitted.history_.epochs[-1].terms["loss"] < fitted.history_.epochs[0].terms["loss"]
    assert fitted.n_left_out_ == fitted.n_empty_ == fitted.n_labels_without_text_ == 0
    texts, Y, names = colors(12)
    cut = dataclasses.replace(SMALL, max_length=6)
    model = prime(training=epochs(1), backbone=cut)
    texts[0], names[2] = "", "!?"
    assert model.fit(texts, Y, label_texts=names) is model
    assert model.n_empty_ == 1
    assert model.n_cut_ == 11


@pytest.mark.parametrize(("repeated", "length"), [(1, 32), (12, 48), (200, 256)])
def test_lengths_follow_the_texts_and_are_stored(repeated, length, tmp_path, capsys):
    """A text has 4 tokens and 3 more for each repetition; 2 special ones are around it."""
    texts, Y, names = colors(12)
    texts = [f"{' '.join(text.split()[:4])} {'and so on ' * repeated}" for text in texts]
    lengths = {"max_length": "auto", "label_max_length": "auto"}
    model = prime(training=epochs(1), backbone=dataclasses.replace(SMALL, **lengths), verbose=True)
    model.fit(texts, Y, label_texts=names)
    said = f"texts of up to {length} tokens, labels of up to 32 (95 % of them have no more)"
    assert said in capsys.readouterr().err
    assert model.backbone.max_length == "auto"
    save(model, tmp_path / "model")
    config = load(tmp_path / "model").network_.backbone.config
    assert (config.max_length, config.label_max_length) == (length, 32)


def test_texts_that_are_cut_are_told_before_the_training_with_a_length_that_would_do(capsys):
    texts, Y, names = colors(12)
    texts = [f"{text} {'and so on ' * 10}" for text in texts]
    model = prime(training=epochs(1), backbone=dataclasses.replace(SMALL, max_length=6))
    with pytest.warns(CutTextsWarning, match="12 of 12 texts are longer than 6 tokens") as caught:
        model.fit(texts, Y, label_texts=names)
    enough = int(re.search(r"backbone.max_length=(\d+) reads more", str(caught[0].message))[1])
    assert enough % 16 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", CutTextsWarning)
        again = prime(
            training=epochs(1), backbone=dataclasses.replace(SMALL, max_length=enough), verbose=True
        )
        assert again.fit(texts, Y, label_texts=names).n_cut_ == 0
        assert "longer than" not in capsys.readouterr().err
        model.set_params(verbose=True).fit(texts, Y, label_texts=names)
        said = capsys.readouterr().err
        assert said.index("12 of 12 texts are longer than 6 tokens") < said.index("training on")


def test_the_same_seed_gives_the_same_model_and_another_does_not():
    texts, Y, names = colors()
    models = [
        prime(training=epochs(2), random_state=s).fit(texts, Y, label_texts=names)
        for s in (1, 1, 2)
    ]
    same, again, other = map(weights, models)
    for name, value in same.items():
        np.testing.assert_array_equal(value, again[name], err_msg=name)
    assert not np.array_equal(same["free_vectors.vectors"], other["free_vectors.vectors"])
    assert models[0].training == epochs(2)  # the settings are left as they were


def test_validation_keeps_the_best_epoch():
    texts, Y, names = things()
    model = prime(training=epochs(3))
    model.fit(texts[::2], Y[::2], label_texts=names, validation=(texts[1::2], Y[1::2]))
    measured = [epoch.metrics["P@1"] for epoch in model.history_.epochs]
    assert len(measured) == 3
    now = precision(model.predict(texts[1::2], top_k=1), Y[1::2])
    assert now == pytest.approx(max(measured), abs=0.005)


def test_exact_centroids_train():
    texts, Y, names = colors(96)
    settings = PrototypeConfig(centroids="exact", source_dropout=0.0)
    model = prime(prototypes=settings, sampler=SamplerConfig(batch_size=16), training=epochs(6))
    model.fit(texts, Y, label_texts=names)
    assert precision(model.predict(texts, top_k=1), Y) > 0.6
    model.to(precision="float32")  # that of training
    means = np.stack([model.embed(texts[label::6]).mean(axis=0) for label in range(6)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(weights(model)["centroids.vectors"], means, atol=1e-4)


def test_labels_of_one_instance_train_without_their_centroid():
    texts, Y, names = things(n_each=1)
    settings = PrototypeConfig(centroid_leak="drop", source_dropout=0.0)
    batches = SamplerConfig(batch_size=12)
    model = prime(prototypes=settings, sampler=batches, training=epochs(12))
    model.fit(texts, Y, label_texts=names)
    assert weights(model)["centroids.counts"].tolist() == [1] * 36
    assert precision(model.predict(texts, top_k=1), Y) > 0.6
    assert model.explain(None, 0).shares["centroid"] != pytest.approx(0, abs=1e-6)


def test_a_classifier_on_top_does_not_lose_what_the_prototypes_know(data, fitted, run):
    train, _ = data
    settings = ClassifierConfig(epochs=5, batch_size=128)
    model = prime(classifier=True, classifier_settings=settings)  # a second stage: no new training
    model.fit(train.texts, train.Y, label_texts=train.label_names, checkpoint=run)
    for name, value in weights(fitted).items():
        np.testing.assert_array_equal(value, weights(model)[name], err_msg=name)
    before = precision(fitted.predict(train.texts, top_k=1), train.Y)
    assert precision(model.predict(train.texts, top_k=1), train.Y) >= before
    assert not np.allclose(model.label_vectors_, fitted.label_vectors_)


# --- prediction


def test_a_batch_is_predicted_as_its_rows_are(data, fitted):
    texts = list(data[1].texts[:20])
    together = fitted.predict(texts, top_k=3)
    exact = in_float32(fitted)
    exactly = exact.predict(texts, top_k=3)
    for row, text in enumerate(texts):
        alone = fitted.predict([text], top_k=3)
        np.testing.assert_allclose(alone.scores[0], together.scores[row], atol=0.02)  # bf16's
        alone = exact.predict([text], top_k=3)
        np.testing.assert_allclose(alone.scores[0], exactly.scores[row], atol=1e-5)
        np.testing.assert_array_equal(alone.labels[0], exactly.labels[row])


def test_scores_are_cosines_of_embeddings_and_label_vectors(data, fitted):
    texts = list(data[1].texts[:5])
    found = fitted.predict(texts, top_k=60)
    cosines = fitted.embed(texts) @ fitted.label_vectors_.T
    np.testing.assert_allclose(np.linalg.norm(fitted.embed(texts), axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found.scores, -np.sort(-cosines, axis=1), atol=1e-5)


def test_bf16_is_close_and_leaves_the_weights_alone(data, fitted):
    texts = list(data[1].texts[:20])
    fast, exact = copy.deepcopy(fitted).set_params(precision="bf16"), in_float32(fitted)
    assert np.abs(fast.embed(texts) - exact.embed(texts)).max() < 0.05
    assert not np.array_equal(fast.embed(texts), exact.embed(texts))
    assert all(value.dtype != "bfloat16" for value in weights(fast).values())
    encoder = fast._encoder
    fast.predict(texts)
    assert fast._encoder is encoder  # one copy of the weights, not one a call


def test_the_precision_of_prediction_can_be_set_and_is_not_saved(data, fitted):
    texts = list(data[1].texts[:5])
    model = copy.deepcopy(fitted)
    assert model.to(precision="bf16") is model
    near = model.embed(texts)
    assert computes_in(model) == torch.bfloat16
    exact = model.to("cpu", precision="float32").embed(texts)
    assert computes_in(model) == torch.float32
    assert 0 < np.abs(near - exact).max() < 0.05
    assert model.to_state().config["precision"] == model.precision == "auto"
    with pytest.raises(ConfigError, match=r"precision must be one of \['auto'.* got 'fp8'"):
        model.to(precision="fp8")


def test_bf16_that_fails_on_this_cpu_is_refused_and_not_chosen(data, fitted, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setenv("MULTITUDES_BF16", "off")
    texts, model = list(data[1].texts[:2]), copy.deepcopy(fitted).to("cpu", precision="auto")
    model.predict(texts)
    assert computes_in(model) == torch.float32
    with pytest.raises(ConfigError, match="precision='bf16' does not work on this CPU"):
        model.to(precision="bf16").predict(texts)
    with pytest.raises(ConfigError, match="precision='bf16' does not work on this CPU"):
        model.network_.backbone.encode(texts, precision="bf16")


def test_filtered_pairs_are_not_found(data, fitted):
    texts = list(data[1].texts[:4])
    best = fitted.predict(texts, top_k=2).labels
    found = fitted.predict(texts, top_k=1, filter_pairs=[[row, best[row, 0]] for row in range(4)])
    np.testing.assert_array_equal(found.labels[:, 0], best[:, 1])


def test_no_text_at_all_and_more_labels_than_there_are(tiny):
    assert tiny.predict([]).labels.shape == (0, 5)
    found = tiny.predict(["a red thing", ""], top_k=10)
    assert found.labels.shape == (2, 10)
    assert (found.labels[:, :6] >= 0).all()
    assert (found.labels[:, 6:] == -1).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.predict(["a text"]),
        lambda m: m.embed(["a text"]),
        lambda m: m.explain("a text", 0),
        lambda m: m.add_labels(["a label"]),
        lambda m: m.to_state(),
        lambda m: m.to("cpu"),
        lambda m: m.n_labels_,
    ],
)
def test_nothing_is_asked_of_an_unfitted_model(ask):
    with pytest.raises(NotFittedError, match="call fit"):
        ask(prime())


def test_a_device_that_is_not_there_is_refused(fitted, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no GPU"):
        fitted.to("cuda")


def test_settings_survive_a_clone(fitted):
    copied = clone(fitted)
    assert not hasattr(copied, "network_")
    assert copied.get_params() == fitted.get_params()
    assert (copied.sampler, copied.training) == (BATCH, QUICK)


# --- explanations


def test_settings_of_configs_are_parameters():
    model = Prime().set_params(backbone__name="scratch", training__epochs=3, loss__margin="fixed")
    assert (model.backbone.name, model.training.epochs, model.loss.margin) == (
        "scratch", 3, "fixed",
    )  # fmt: skip
    assert model.get_params()["training__epochs"] == 3
    assert Prime().training.epochs == TrainingConfig().epochs  # defaults are not shared
    with pytest.raises(ConfigError, match="did you mean 'epochs'"):
        model.set_params(training__epoch=3)
    with pytest.raises(TypeError):
        Prime(SMALL)


def test_a_grid_over_nested_settings():
    texts, Y, names = colors(24)

    def accuracy(model, X, y):
        return precision(model.predict(X, top_k=1), y)

    grid = {"training__epochs": [1, 12], "backbone__scratch_dim": [32]}
    search = GridSearchCV(prime(sampler=SamplerConfig(batch_size=8)), grid, scoring=accuracy, cv=2)
    search.fit(texts, Y, label_texts=names)
    assert search.best_params_ == {"training__epochs": 12, "backbone__scratch_dim": 32}
    assert search.best_estimator_.training.epochs == 12


@pytest.mark.parametrize("form", ["csc_array", "toarray", "tolist"])
def test_labels_in_any_form(form, tiny):
    texts, Y, names = colors()
    same = {"csc_array": Y.tocsc(), "toarray": Y.toarray(), "tolist": Y.toarray().tolist()}[form]
    model = prime(training=epochs(2)).fit(X=texts, y=same, label_texts=names)
    np.testing.assert_array_equal(model.label_vectors_, tiny.label_vectors_)


def test_an_explanation_adds_up_to_the_score_and_shows_instances_of_the_label(data, fitted):
    train, test = data
    text = test.texts[0]
    label = int(fitted.predict([text], top_k=1).labels[0, 0])
    why = fitted.explain(text, label, top_k=3)
    assert why.score == pytest.approx(float(fitted.predict([text], top_k=1).scores[0, 0]), abs=1e-5)
    assert sum(why.shares.values()) == pytest.approx(why.score, abs=1e-4)
    assert set(why.shares) == {"text", "centroid", "free"}
    has_label = train.Y[:, [label]].toarray()[:, 0] > 0
    assert len(why.nearest.instances) == min(3, has_label.sum())
    assert has_label[why.nearest.instances].all()
    everyone = fitted.embed(train.texts)[has_label] @ fitted.embed([text])[0]
    assert why.nearest.similarities[0] == pytest.approx(everyone.max(), abs=2e-3)


def test_a_label_alone_is_explained_too(fitted):
    why = fitted.explain(None, 3)
    assert why.score == pytest.approx(1, abs=1e-5)
    assert sum(why.shares.values()) == pytest.approx(1, abs=1e-4)


def test_without_kept_instances_there_are_shares_alone(tiny):
    why = tiny.explain("a red thing", 0)
    assert why.nearest is None
    assert sum(why.shares.values()) == pytest.approx(why.score, abs=1e-4)


# --- new labels


@pytest.fixture(scope="module")
def unseen():
    """A model that never saw six of the 36 pairs of a color and a thing, but all of the words."""
    texts, Y, names = things()
    known = np.flatnonzero(np.arange(36) % 7)
    rows = np.flatnonzero(np.diff(Y[:, known].indptr))
    some = [texts[i] for i in rows]
    return prime(training=epochs(12), sampler=SamplerConfig(batch_size=32)).fit(
        some, Y[:, known][rows], label_texts=[names[i] for i in known]
    )


def test_labels_never_seen_are_found_by_text_and_better_with_examples(unseen):
    texts, Y, names = things()
    new = np.flatnonzero(np.arange(36) % 7 == 0)
    of_label = [[texts[i] for i in np.flatnonzero(Y[:, [j]].toarray()[:, 0])] for j in new]
    n_known, wanted = unseen.n_labels_, np.repeat(np.arange(6), 8) + unseen.n_labels_
    assert n_known == 30

    def part_found(model):
        found = model.predict([text for some in of_label for text in some[2:]], top_k=1)
        return (found.labels[:, 0] == wanted).mean()

    by_text = copy.deepcopy(unseen).add_labels([names[j] for j in new])
    by_both = copy.deepcopy(unseen)
    by_both.add_labels([names[j] for j in new], [some[:2] for some in of_label])
    assert by_text.n_labels_ == by_both.n_labels_ == 36
    assert part_found(by_text) > 0.5
    assert part_found(by_both) > 0.8


def test_what_is_known_keeps_its_vectors_when_labels_are_added(unseen):
    model = copy.deepcopy(unseen)
    before = model.label_vectors_.copy()
    model.add_labels(["first"]).add_labels(["second", "third"], [["a text"], []]).add_labels([])
    np.testing.assert_array_equal(model.label_vectors_[: len(before)], before)
    assert model.n_labels_ == len(before) + 3
    why = model.explain("a text", len(before) + 1)
    assert sum(why.shares.values()) == pytest.approx(why.score, abs=1e-4)
    assert why.shares["free"] == pytest.approx(0, abs=1e-6)


def test_a_text_encoder_takes_new_labels_by_their_text():
    texts, Y, names = colors()
    settings = PrototypeConfig(sources=("text",), combine="sum", source_dropout=0.0)
    model = prime(prototypes=settings, training=epochs(2)).fit(texts, Y, label_texts=names)
    model.add_labels(["purple"])
    rows = model.network_.backbone.tokenize(["purple"]).rows
    np.testing.assert_allclose(
        model.label_vectors_[-1], embed(model.network_.backbone, rows, "")[0], atol=1e-6
    )


# --- labels and texts that lack something


def test_a_label_without_text_is_made_of_its_other_sources():
    texts, Y, names = colors(96)
    names[1], names[4] = "", " "
    settings = {"training": epochs(10), "sampler": SamplerConfig(batch_size=16)}
    model = prime(**settings).fit(texts, Y, label_texts=names)
    assert model.n_labels_without_text_ == 2
    assert model.explain(None, 1).shares["text"] == pytest.approx(0, abs=1e-6)
    assert model.explain(None, 0).shares["text"] != pytest.approx(0, abs=1e-3)
    assert not np.allclose(model.label_vectors_[1], model.label_vectors_[4], atol=0.1)
    found = model.predict(["a blue thing", "a white thing"], top_k=1).labels
    assert found.tolist() == [[1], [4]]


def test_a_plain_text_encoder_embeds_the_empty_text_of_a_label():
    texts, Y, names = colors()
    names[1] = ""
    settings = PrototypeConfig(sources=("text",), combine="sum", source_dropout=0.0)
    model = prime(prototypes=settings, training=epochs(1)).fit(texts, Y, label_texts=names)
    model.to(precision="float32")  # that of label vectors
    np.testing.assert_allclose(model.label_vectors_[1], model.embed([""])[0], atol=1e-6)


def test_labels_without_instances_and_instances_without_labels():
    texts, Y, names = colors()
    wide = Y.copy()
    wide.resize(60, 7)
    model = prime(training=epochs(2))
    model.fit([*texts, *["nothing"] * 12], wide, label_texts=[*names, "purple"])
    assert model.n_left_out_ == 12
    assert model.n_labels_ == 7
    assert model.explain(None, 6).shares["centroid"] == pytest.approx(0, abs=1e-6)
    assert np.isfinite(model.label_vectors_).all()


# --- on disk


def test_a_saved_model_predicts_and_explains_the_same(tmp_path, data, fitted):
    texts = list(data[1].texts[:10])
    model = copy.deepcopy(fitted).add_labels(["a new one"], [texts[:2]])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    one, other = model.predict(texts, top_k=4), again.predict(texts, top_k=4)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)
    assert again.get_params() == model.get_params()
    for label in (2, 60):
        left, right = model.explain(texts[0], label), again.explain(texts[0], label)
        assert left.shares == pytest.approx(right.shares, abs=1e-6)
        np.testing.assert_array_equal(left.nearest.instances, right.nearest.instances)
    assert len(again.explain(None, 60).nearest.instances) == 0
    assert again.add_labels(["another"]).n_labels_ == model.n_labels_ + 1


def test_labels_without_text_are_known_after_loading(tmp_path):
    texts, Y, names = colors()
    names[1] = ""
    model = prime(training=epochs(1)).fit(texts, Y, label_texts=names)
    save(model, tmp_path / "model")
    shares = load(tmp_path / "model").explain(None, 1).shares
    assert shares == pytest.approx(model.explain(None, 1).shares, abs=1e-6)


def test_sentence_transformers_loads_the_encoder(tmp_path, data, fitted):
    theirs = pytest.importorskip("sentence_transformers")
    save(fitted, tmp_path / "model")
    texts = list(data[1].texts[:5])
    encoder = theirs.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(encoder.encode(texts), in_float32(fitted).embed(texts), atol=1e-5)


def test_an_approximate_index_is_saved_and_grows(tmp_path, data):
    pytest.importorskip("faiss")
    train, test = data
    texts = list(test.texts[:30])
    model = prime(index=IndexConfig(kind="hnsw", neighbors=8), training=epochs(1))
    model.fit(train.texts, train.Y, label_texts=train.label_names)
    model.add_labels(["a new label"])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.index_.kind == "hnsw"
    np.testing.assert_array_equal(again.predict(texts).labels, model.predict(texts).labels)
    flat = (model.embed(texts) @ model.label_vectors_.T).argmax(axis=1)
    assert (again.predict(texts, top_k=1).labels[:, 0] == flat).mean() > 0.9
