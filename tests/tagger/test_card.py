from __future__ import annotations

import pytest

from multitudes.errors import StoreError
from multitudes.store import load, save
from multitudes.tagger import Tagger
from multitudes.tagger.reports.card import CARD, CardData, CardEvent, ModelCard

EVENT = CardEvent(
    "train", "multitudes train x", CardData("x", 3, 2, 4), {"test": {"P@1": 0.5}}, ("a note",)
)


@pytest.fixture
def folder(tmp_path):
    tagger = Tagger("xr-linear").fit(["red apple", "blue sky", "green tea"], [["a"], ["b"], ["a"]])
    tagger.save(tmp_path / "m")
    return tmp_path / "m"


def test_what_is_written_comes_back(folder):
    assert ModelCard.read(folder) is None
    ModelCard((EVENT,)).write(folder)
    assert ModelCard.read(folder) == ModelCard((EVENT,))
    later = ModelCard.read(folder).and_then(CardEvent("update", "multitudes update m y"))
    later.write(folder)
    assert [event.verb for event in ModelCard.read(folder).events] == ["train", "update"]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_a_card_does_not_change_the_model(folder):
    before = (folder / "manifest.json").read_bytes()
    ModelCard((EVENT,)).write(folder)
    assert (folder / "manifest.json").read_bytes() == before
    assert load(folder, verify=True).classes_ == ("a", "b")


def test_a_card_of_a_model_that_was_replaced_does_not_count(folder):
    ModelCard((EVENT,)).write(folder)
    save(load(folder), folder)
    assert (folder / CARD).is_file()
    assert ModelCard.read(folder) is None
    ModelCard((EVENT,)).write(folder)  # and may be replaced
    assert ModelCard.read(folder) is not None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "other"}', "null"])
def test_a_file_of_somebody_else_stays(folder, content):
    (folder / CARD).write_text(content)
    assert ModelCard.read(folder) is None
    with pytest.raises(StoreError, match="is not a model card"):
        ModelCard((EVENT,)).write(folder)
    assert (folder / CARD).read_text() == content


@pytest.mark.parametrize("broken", ['"date"', '"n_labels"', '"events"'])
def test_a_damaged_card_is_no_card(folder, broken):
    ModelCard((EVENT,)).write(folder)
    text = (folder / CARD).read_text()
    (folder / CARD).write_text(text.replace(broken, '"other"'))
    assert ModelCard.read(folder) is None
