"""Damaged, incomplete and foreign model folders: errors that name the file, never a traceback."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError, StoreError
from multitudes.interchange import import_model

from .make_fixtures import FIXTURES, KEPT
from .test_fixtures import inputs_of

SOURCES = {group: FIXTURES / group / cases[0] / "model" for group, cases in KEPT.items()}
FLIPS = 12


@pytest.fixture(params=SOURCES)
def model(request, tmp_path):
    """A copy of a model, with the name of its group."""
    shutil.copytree(SOURCES[request.param], tmp_path / "model")
    return request.param, tmp_path / "model"


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def edit_json(path, **changes):
    content = json.loads(path.read_text())
    content.update(changes)
    path.write_text(json.dumps(content))


def refused(folder, match, error=StoreError):
    with pytest.raises(error, match=match):
        import_model(folder)


def test_a_missing_file_is_named(model):
    group, folder = model
    for path in files_of(folder):
        content = path.read_bytes()
        path.unlink()
        if path == folder / "param.json" and group == "pecos":
            refused(folder, "is not a model folder of PECOS")
        elif path.name == "settings.json":
            refused(folder, "is not a model folder of PECOS .* or omikuji")
        elif path.suffix == ".cbor" and group == "omikuji":
            assert import_model(folder).model_.n_trees == 1  # it says nowhere how many there were
        elif path.name == "meta.json":
            refused(folder, "tokenizer.config.json is missing")
        elif path.parent.name == "0":
            assert import_model(folder)  # PECOS writes no more than its name there
        else:
            refused(folder, f"{path.name} is missing, the model is not whole")
        path.write_bytes(content)
    assert import_model(folder)


def test_a_bias_that_no_float_holds_is_refused(tmp_path):
    folder = shutil.copytree(SOURCES["pecos"], tmp_path / "model")
    level = max(path for path in files_of(folder) if path.match("*.model/param.json"))
    edit_json(level, bias=10**400)
    refused(folder, "'bias' must be of type float")


def test_a_truncated_file_is_named(model):
    _, folder = model
    for path in files_of(folder):
        content = path.read_bytes()
        for length in {0, len(content) // 3, len(content) - 7}:
            path.write_bytes(content[:length])
            if path.parent.name == "0" or path == folder / "param.json":
                continue  # nothing in it is needed
            refused(folder, path.name)
        path.write_bytes(content)


def test_flipped_bits_are_an_error_or_another_number(model):
    """Whatever is accepted can be searched: no kernel may see an index out of range."""
    group, folder = model
    rng, given = np.random.default_rng(0), inputs_of(group)[:3]
    n_refused = 0
    for path in files_of(folder):
        content = path.read_bytes()
        for _ in range(FLIPS):
            flipped = bytearray(content)
            for at in rng.integers(0, len(content), rng.integers(1, 4)):
                flipped[at] ^= 1 << rng.integers(0, 8)
            path.write_bytes(bytes(flipped))
            try:
                tagger = import_model(folder)
            except (StoreError, DataError):
                n_refused += 1
                continue
            assert tagger.predict_ids(given, top_k=8).labels.max() < len(tagger.classes_)
        path.write_bytes(content)
    assert n_refused > FLIPS


# ------------------------------------------------------------------ PECOS


@pytest.fixture
def pecos(tmp_path):
    return shutil.copytree(SOURCES["pecos"], tmp_path / "model")


def changed(path, change):
    """Save a matrix again with some of its arrays changed."""
    with np.load(path) as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(path, **arrays)


def set_item(name, at, value):
    def change(arrays):
        arrays[name][at] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_item("indices", 0, -1),
        set_item("indices", 0, 1 << 20),
        set_item("indptr", 1, 1 << 20),
        set_item("indptr", 1, -5),
        set_item("indptr", 0, 3),
        set_item("data", 0, np.nan),
        set_item("data", 0, np.inf),
        lambda arrays: arrays.update(data=arrays["data"][:-1]),
        lambda arrays: arrays.update(shape=np.array([3, 3])),
        lambda arrays: arrays.update(shape=np.array([-3, 3])),
        lambda arrays: arrays.update(shape=np.array([3])),
        lambda arrays: arrays.update(data=arrays["data"].astype(complex)),
        lambda arrays: arrays.update(data=arrays["data"].astype("U9")),
        lambda arrays: arrays.update(format=np.array(b"dia")),
        lambda arrays: arrays.update(format=np.array(b"new")),
    ],
)
@pytest.mark.parametrize("name", ["W.npz", "C.npz"])
def test_wrong_arrays_are_refused(pecos, change, name):
    changed(pecos / "ranker" / "1.model" / name, change)
    refused(pecos, f"1.model.{name}")


def test_pickled_arrays_are_not_read(pecos):
    path = pecos / "ranker" / "1.model" / "W.npz"
    changed(path, lambda arrays: arrays.update(data=arrays["data"].astype(object)))
    refused(pecos, "not an array of plain numbers")


def test_levels_must_fit_each_other(pecos):
    for name in ("W.npz", "C.npz"):
        path = pecos / "ranker" / "1.model" / name
        content = path.read_bytes()
        sp.save_npz(path, sp.csc_matrix((7, 4), dtype=np.float32))
        refused(pecos, "1.model.(C.npz has the shape|W.npz is made for 6 features)")
        path.write_bytes(content)


def test_a_child_of_two_clusters_is_refused(pecos):
    path = pecos / "ranker" / "2.model" / "C.npz"
    sp.save_npz(path, sp.csc_matrix(np.ones(sp.load_npz(path).shape, np.float32)))
    refused(pecos, "C.npz has child 0 in several clusters")


def test_a_tree_without_children_is_refused(pecos):
    path = pecos / "ranker" / "0.model" / "C.npz"
    sp.save_npz(path, sp.csc_matrix(sp.load_npz(path).shape, dtype=np.float32))
    refused(pecos, "C.npz has no clusters with children")


def test_xr_transformers_are_refused(tmp_path):
    (tmp_path / "text_encoder").mkdir()
    (tmp_path / "param.json").write_text('{"model": "XTransformer", "depth": 2}')
    refused(tmp_path, "'XTransformer': of PECOS, only XR-Linear models.*--model prime")


def test_models_for_memory_maps_are_refused(pecos):
    edit_json(pecos / "ranker" / "param.json", is_mmap=True)
    refused(pecos, "compiled for memory maps: import the folder that XLinearModel.save wrote")


def predicting(path, **changes):
    content = json.loads(path.read_text())
    content["pred_kwargs"].update(changes)
    path.write_text(json.dumps(content))


def test_post_processors_that_are_not_ours_are_refused(pecos):
    levels = sorted((pecos / "ranker").glob("*.model"))
    predicting(levels[0] / "param.json", post_processor="sigmoid")
    refused(pecos, "different post-processors .l3-hinge, sigmoid.")
    for name in ("noop", "l0-hinge", "cube"):
        for level in levels:
            predicting(level / "param.json", post_processor=name)
        refused(pecos, f"post-processor '{name}' .* cannot be imported for a tree of 3 levels")


def test_beams_that_differ_are_remarked_on(pecos):
    predicting(pecos / "ranker" / "0.model" / "param.json", only_topk=7)
    tagger = import_model(pecos)
    assert tagger.model_.beam_width == 7
    assert tagger.choice_.endswith("its levels keep 7, 3 clusters, here each keeps 7")


@pytest.mark.parametrize("value", ["three", -4, 2.5, [1]])
def test_a_wrong_beam_is_refused(pecos, value):
    predicting(pecos / "ranker" / "0.model" / "param.json", only_topk=value)
    refused(pecos, "0.model.param.json: 'only_topk' must be a whole number")


@pytest.mark.parametrize(("name", "value"), [("bias", "1"), ("bias", None), ("pred_kwargs", 3)])
def test_wrong_parameters_are_refused(pecos, name, value):
    edit_json(pecos / "ranker" / "0.model" / "param.json", **{name: value})
    refused(pecos, f"'{name}' must be of type")


@pytest.mark.parametrize("depth", [0, 65, "3", None, 10**9])
def test_a_wrong_depth_is_refused(pecos, depth):
    edit_json(pecos / "ranker" / "param.json", depth=depth)
    refused(pecos, "'depth' must be from 1 to 64")


def test_the_number_of_names_must_fit(pecos):
    with pytest.raises(DataError, match="3 label names, but .* has 16 labels"):
        import_model(pecos, labels=["a", "b", "c"])
    with pytest.raises(DataError, match="label ids up to 15: give a name for each id"):
        import_model(SOURCES["omikuji"], labels=["a", "b", "c"])
    for wrong in ("abcdefghijklmnop", list(range(16))):
        with pytest.raises(DataError, match="labels must be a sequence of str"):
            import_model(pecos, labels=wrong)


# ------------------------------------------------------------------ text2text


@pytest.fixture
def texts(tmp_path):
    return shutil.copytree(SOURCES["texts"], tmp_path / "model")


def test_vectorizers_of_scikit_learn_are_refused(texts):
    edit_json(texts / "preprocessor" / "config.json", type="sklearntfidf")
    refused(texts, "type 'sklearntfidf', and only 'tfidf' .* xlinear_ensemble/0 instead")
    assert not import_model(texts / "xlinear_ensemble" / "0").takes_texts_


def test_ensembles_are_refused(texts):
    edit_json(texts / "xlinear_ensemble" / "config.json", kwargs=[{}, {}])
    refused(texts, "ensemble of 2 models, expected one: import the folders in")


@pytest.mark.parametrize(
    ("old", "new"),
    [("\t2\t", "\t3\t"), ("\t1\t0", "\t1\t999"), ("\t1\t0\n", "\t1\tx\n"), ("\n0\t", "\n1\t")],
)
def test_wrong_terms_are_refused_with_their_line(texts, old, new):
    path = texts / "preprocessor" / "0.base" / "vectorizer" / "tfidf-model.txt"
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))
    refused(texts, r"tfidf-model.txt:\d+: expected a column, an idf, a length and numbers")


def test_features_must_fit_the_model(texts):
    shutil.copytree(
        texts / "preprocessor" / "0.base", texts / "preprocessor" / "1.base", dirs_exist_ok=True
    )
    refused(texts, r"preprocessor .* makes \d+ features, but the model takes")


# ------------------------------------------------------------------ omikuji


@pytest.fixture
def omikuji(tmp_path):
    return shutil.copytree(SOURCES["omikuji"], tmp_path / "model")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": 13}, "tree0.cbor, byte [0-9,]+: expected weights of 13 features"),
        ({"n_features": -1}, "'n_features' must be 1 or more"),
        ({"n_features": "12"}, "'n_features' must be of type int"),
        ({"classifier_loss_type": "Cubic"}, "must be one of Hinge, Log, got 'Cubic'"),
    ],
)
def test_wrong_settings_are_refused(omikuji, changes, message):
    edit_json(omikuji / "settings.json", **changes)
    refused(omikuji, message)


def text(word):
    return bytes([0x60 + len(word)]) + word.encode()


def leaf(labels, *, dense=None, sparse=None):
    """A tree of one leaf over two features, in CBOR; weights are lists of bytes of fields."""
    form, fields = ("Dense", dense) if sparse is None else ("Sparse", sparse)
    weights = b"\xa1" + text(form) + bytes([0xA0 + len(fields)])
    weights += b"".join(text(name) + value for name, value in fields.items())
    return (
        b"\xa1" + text("Leaf") + b"\xa2" + text("weights") + weights + text("labels")
        + bytes([0x80 + len(labels), *labels])
    )  # fmt: skip


def floats(*values):
    return bytes([0x80 + len(values)]) + b"".join(
        b"\xfa" + np.array(value, ">f4").tobytes() for value in values
    )


def whole(*values):
    return bytes([0x80 + len(values), *values])


DENSE = {"v": b"\x01", "dim": whole(3, 1), "data": floats(1, 2, -0.5)}
SPARSE = {
    "outer_dim": b"\x03", "inner_dim": b"\x01", "indptr": whole(0, 1, 2),
    "outer_inds": whole(0, 2), "inner_inds": whole(0, 0), "data": floats(1, -0.5),
}  # fmt: skip


@pytest.fixture
def small(tmp_path):
    (tmp_path / "settings.json").write_text('{"n_features": 2, "classifier_loss_type": "Hinge"}')

    def write(content):
        (tmp_path / "tree0.cbor").write_bytes(content)
        return tmp_path

    return write


def test_a_leaf_written_by_hand_scores_as_computed_by_hand(small):
    X = sp.csr_array(np.array([[3, 4]], np.float32))  # scaled to 0.6, 0.8
    margins = []
    for content in (leaf([0], dense=DENSE), leaf([0], sparse=SPARSE)):
        (tags,) = import_model(small(content)).predict(X)
        margins.append(1 - np.sqrt(-np.log(tags[0].score)) if tags[0].score < 1 else 1)
    assert margins == pytest.approx([1, 0.1], abs=1e-5)  # 0.6 + 1.6 - 0.5 is more than 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": whole(0, 2, 1)}, "do not fit"),
        ({"indptr": whole(1, 1, 2)}, "do not fit"),
        ({"indptr": whole(0, 1)}, "do not fit"),
        ({"indptr": whole()}, "do not fit"),
        ({"outer_inds": whole(0, 3)}, "do not fit"),
        ({"inner_inds": whole(0, 1)}, "do not fit"),
        ({"inner_inds": whole(0)}, "do not fit"),
        ({"outer_inds": whole(1, 1)}, "holds a weight twice"),
        ({"outer_dim": b"\x04"}, "expected weights of 2 features"),
        ({"inner_dim": b"\x02"}, "a Leaf must have children, and weights for each"),
        ({"inner_dim": b"\x1b" + b"\x0f" * 8}, "expected at most [0-9,]+ children"),
        ({"data": floats(np.nan, 1)}, "not finite"),
        ({"data": floats(1, np.inf)}, "not finite"),
        ({"data": whole(1, 1)}, "expected floats"),
        ({"data": b"\x9a\xff\xff\xff\xff"}, "ends within the file"),
        ({"data": b"\x9b" + b"\xff" * 8}, "ends within the file"),
        ({"data": b"\x9f\xff"}, "ends within the file"),
        ({"new": b"\x00"}, "sparse weights have no 'new'"),
        ({"data": None}, "lack some of their fields"),
    ],
)
def test_wrong_sparse_weights_are_refused(small, changes, message):
    fields = {k: v for k, v in {**SPARSE, **changes}.items() if v is not None}
    refused(small(leaf([0], sparse=fields)), f"(tree0.cbor, byte [0-9,]+: .*{message}|{message})")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": whole(3, 2)}, "as much 'data'"),
        ({"dim": whole(3)}, "as much 'data'"),
        ({"data": None}, "as much 'data'"),
        ({"v": b"\xf6"}, "expected a whole number"),
        ({"extra": b"\x00"}, "dense weights have no 'extra'"),
    ],
)
def test_wrong_dense_weights_are_refused(small, changes, message):
    fields = {k: v for k, v in {**DENSE, **changes}.items() if v is not None}
    refused(small(leaf([0], dense=fields)), message)


def test_wrong_nodes_are_refused(small):
    good = leaf([0], dense=DENSE)
    refused(small(good + b"\x00"), "expected the end of the file")
    refused(small(good.replace(b"Leaf", b"Lead")), "expected a Branch or a Leaf, got 'Lead'")
    refused(small(good.replace(b"labels", b"babels")), "a Leaf has no 'babels' in the format")
    refused(small(good.replace(b"Dense", b"Tense")), "expected Dense or Sparse weights")
    refused(small(good.replace(b"Leaf", b"\xff\xfe\xfd\xfc")), "expected a name")
    refused(small(b"\xa2" + good[1:]), "expected a map of one key")
    refused(small(b"\x80"), "expected a map")
    two = {"v": b"\x01", "dim": whole(3, 2), "data": floats(*range(6))}
    refused(small(leaf([4, 4], dense=two)), "holds a label twice")


def test_a_tree_without_end_is_refused(small):
    branch = b"\xa1" + text("Branch") + b"\xa1" + text("children") + b"\x81"
    refused(small(branch * 10_000), "expected a tree of at most 128 levels")


@pytest.mark.parametrize("content", ["1\n{0}\tword\n", "{0}\n1\tword\n"])
def test_numbers_of_thousands_of_digits_are_refused(tmp_path, content):
    from multitudes.interchange.pecos_texts import _read_tokens

    (tmp_path / "vocab.txt").write_text(content.format("7" * 5000))
    with pytest.raises(StoreError, match="vocab.txt"):
        _read_tokens(tmp_path / "vocab.txt")
