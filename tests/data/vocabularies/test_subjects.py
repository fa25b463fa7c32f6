"""Names of labels in several languages, for one model and for several."""

from __future__ import annotations

import pytest

pytest.importorskip("rdflib")

from multitudes.data.vocabularies import Subjects, Vocabularies
from multitudes.errors import ConfigError, DataError
from tests.server.crafts import BELTS, SPOONS, crafts_vocabulary


def test_vocabularies_of_some_models(tmp_path):
    table = tmp_path / "shop.tsv"
    table.write_text(f"<{BELTS}>\tgirdles\t9\n")
    crafts = crafts_vocabulary(tmp_path)
    found = Vocabularies.read([str(crafts), f"shop={table}"], ["shop", "other"], "fi")
    assert found.of("other").language == "fi"
    assert found.of("other").languages == ["en", "fi"]
    assert (found.of("shop").language, found.of("shop").notations) == ("fi", {BELTS: "9"})
    with pytest.raises(ConfigError, match="two vocabularies are given for all models"):
        Vocabularies.read([str(crafts), str(table)], ["shop"])
    with pytest.raises(DataError, match="no names in the language 'sv'"):
        Vocabularies.read([str(crafts)], ["shop"], "sv")


def test_names_in_other_languages_stand_in(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("uri,label_en,label_de,label_de-at\nu1,one,eins,\nu2,two,,zwo\nu3,three,,\n")
    subjects = Subjects.read(path, "en")
    named = subjects.nearest("de")
    assert [next(t[u] for t in named if u in t) for u in ("u1", "u2", "u3")] == [
        "eins", "zwo", "three"
    ]  # fmt: skip


def test_names_and_notations_lead_to_uris(tmp_path):
    subjects = Subjects.read(crafts_vocabulary(tmp_path))
    assert [subjects.uri_of(label) for label in ("lusikat", "7", SPOONS, "forks")] == [
        SPOONS, SPOONS, SPOONS, "forks"
    ]  # fmt: skip
    assert list(subjects.names_of(SPOONS)) == [SPOONS, "7", "spoons", "lusikat"]
    assert list(subjects.names_of("forks")) == ["forks"]
    assert (subjects.name, subjects.language, len(subjects.known)) == ("crafts", "en", 4)


def test_without_a_vocabulary_there_are_no_names():
    subjects = Vocabularies(language="SV").of("shop")
    assert (subjects.name, subjects.languages, subjects.nearest("sv")) == ("shop", ["sv"], [])
    assert subjects.uri_of("belts") == "belts"
    assert Vocabularies().of("shop").language == "und"
