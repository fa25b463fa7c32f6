import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data.catalogue import make_catalogue
from multitudes.data.catalogue.words import FAMILIES, PLACES, topics
from multitudes.data.catalogue.world import Code, base_names, candidates, world
from multitudes.errors import ConfigError


@pytest.fixture(scope="module")
def shop():
    return make_catalogue(6000, random_state=3)


def test_the_words_are_many_and_well_formed():
    assert len(topics()) >= 80
    assert len({topic.name for topic in topics()}) == len(topics())
    assert len(world().ambiguous) >= 60
    assert {"belt", "apple", "jaguar", "mercury", "mouse", "pitch"} <= set(world().ambiguous)
    for topic in topics():
        assert topic.family in FAMILIES
        assert len(topic.labels) >= 5
        assert all(len(phrases) >= 2 for phrases in topic.labels.values())
        assert all(phrase.strip() == phrase != "" for p in topic.labels.values() for phrase in p)


def test_names_of_all_kinds_differ():
    bases = set(world().slot_names)
    names = [*world().topic_names, *bases, *world().facet_names, *PLACES]
    assert len(set(names)) == len(names)


def test_the_default_catalogue(shop):
    data = shop.dataset
    assert (len(data), data.n_labels) == (6000, 1500)
    assert len(set(data.label_names)) == 1500
    assert data.Y.dtype == np.float32
    assert set(data.Y.data) == {1.0}
    assert 2 < data.Y.nnz / len(data) < 5


def test_the_label_set_has_a_long_tail(shop):
    counts = np.sort(np.asarray(shop.dataset.Y.sum(axis=0)).ravel())[::-1]
    assert counts[0] > 50 * max(np.median(counts), 1)
    assert counts[:300].sum() > 0.5 * counts.sum()


def test_texts_read_like_lines(shop):
    texts = shop.dataset.texts
    assert len(set(texts)) > 0.95 * len(texts)
    for text in texts:
        assert not set("{}_\0") & set(text)
        assert "  " not in text
        assert ",," not in text
        assert ", ." not in text
        assert text[0] == text[0].upper()
        assert 10 < len(text) < 250


def test_the_same_seed_gives_the_same_catalogue(shop):
    again, other = make_catalogue(6000, random_state=3), make_catalogue(6000, random_state=4)
    assert again.dataset.texts == shop.dataset.texts
    assert (again.dataset.Y != shop.dataset.Y).nnz == 0
    assert (again.senses != shop.senses).nnz == 0
    assert other.dataset.texts != shop.dataset.texts


def test_the_lines_do_not_depend_on_the_label_space(shop):
    for settings in ({"n_labels": 50}, {"ambiguity": 0.0}, {"group_size": 3}):
        other = make_catalogue(6000, random_state=3, **settings)
        assert other.dataset.texts == shop.dataset.texts
        np.testing.assert_array_equal(other.topics, shop.topics)


def test_every_label_has_a_sense_and_every_sense_its_label(shop):
    truth = shop.truth
    assert (shop.dataset.Y.multiply(truth) != shop.dataset.Y).nnz == 0
    assert truth.nnz > shop.dataset.Y.nnz
    assert (shop.sense_labels >= 0).all()
    for sense, label in enumerate(shop.sense_labels.tolist()):
        name, label_name = shop.sense_names[sense], shop.dataset.label_names[label]
        assert name.split(" (")[0].split(",")[0] == label_name.split(",")[0]


def test_a_line_has_one_sense_of_an_ambiguous_label_and_it_is_its_topic(shop):
    for label in shop.ambiguous_labels:
        chosen = shop.senses[:, shop.sense_labels == label]
        assert chosen.sum(axis=1).max() == 1
    names = enumerate(shop.sense_names)
    belts = [i for i, name in names if name.startswith("belt (") and name.endswith(")")]
    assert len(belts) == 4
    for sense in belts:
        topic = shop.sense_names[sense].removeprefix("belt (").removesuffix(")")
        lines = shop.senses[:, [sense]].tocoo().coords[0]
        assert {shop.topic_names[t] for t in shop.topics[lines]} == {topic}


def test_ambiguity_fuses_part_of_the_senses():
    none, half, full = (make_catalogue(500, ambiguity=part) for part in (0.0, 0.5, 1.0))
    assert len(none.ambiguous_labels) == 0
    assert 0 < len(half.ambiguous_labels) < len(full.ambiguous_labels)
    assert "belt" in full.dataset.label_names
    assert "belt" not in none.dataset.label_names
    assert "belt (fashion)" in none.dataset.label_names
    assert len(set(base_names(0.0))) == len(world().slot_names)


def test_groups_list_the_labels_of_their_members():
    shop = make_catalogue(1003, group_size=4, random_state=1)
    data = shop.dataset
    assert data.groups.shape == (1003, 251)
    assert (data.groups.sum(axis=1) == 1).all()
    sizes = np.sort(np.asarray(data.groups.sum(axis=0)).ravel())
    assert sizes.tolist() == [3.0] + [4.0] * 250
    assert (sp.csr_array(data.groups.T @ data.Y) != data.group_labels).nnz == 0
    assert data.group_labels.max() > 1  # a label of two members is listed twice
    assert make_catalogue(10).dataset.groups is None


@pytest.mark.parametrize("n_labels", [1, 88, 20_000, 100_000])
def test_any_number_of_labels(n_labels):
    data = make_catalogue(300, n_labels=n_labels).dataset
    assert data.n_labels == len(set(data.label_names)) == n_labels
    assert data.Y.nnz > 0


def test_codes_unpack_to_what_was_packed():
    code = Code(300)
    for parts in ((0, 0, 0, 0, 0), (3, 0, 0, 0, 0), (0, 300, 5, 7, 60), (0, 0, 0, 0, 1)):
        assert code.unpack(int(code.pack(*parts))) == parts


def test_expected_frequencies_are_those_of_the_lines():
    names, bases = np.unique(np.array(base_names(1.0)), return_inverse=True)
    code = Code(len(names))
    codes, chances = candidates(code, bases + 1)
    belt = int(code.pack(0, names.tolist().index("belt") + 1, 0, 0, 0))
    shop = make_catalogue(20_000, random_state=0)
    label = shop.dataset.label_names.index("belt")
    share = shop.truth[:, [label]].sum() / 20_000
    assert share == pytest.approx(chances[np.searchsorted(codes, belt)], rel=0.2)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_instances": 0},
        {"n_labels": 0},
        {"n_labels": 10**6},
        {"ambiguity": 1.5},
        {"group_size": 0},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        make_catalogue(**{"n_instances": 10, **settings})
