"""Models of other packages: declared by entry points, found by name, stored and loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from multitudes.errors import ConfigError, MultitudesError, StoreError, TrainingError
from multitudes.models import (
    ModelSpec,
    built_in_models,
    lookup,
    model_names,
    model_spec,
    paper_models,
)
from multitudes.store.registry import class_of, kinds
from multitudes.tagger import Tagger
from multitudes.types import Predictions

from .plugin import install

TEXTS = ["red apple fruit", "green apple fruit", "leather belt", "conveyor belt machine"]
LABELS = [["fruit"], ["fruit"], ["clothing"], ["machines"]]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder into which a sound package was installed."""
    return install(tmp_path_factory.mktemp("acme"))


@pytest.fixture
def fresh() -> Iterator[None]:
    """Entry points are read again, before and after."""
    caches = (lookup._declared, lookup._loaded)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()
    for module in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[module]


@pytest.fixture
def installed(site, fresh, monkeypatch) -> Path:
    """The sound package is on the path of this process."""
    monkeypatch.syspath_prepend(str(site))
    return site


def run(site: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run ``python -m multitudes`` in a process that has the package."""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "multitudes", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("model", ["acme-words", "acme-reader"])
def test_the_command_line_trains_saves_and_predicts_with_it(site, tmp_path, model):
    lines = [{"text": t, "labels": row} for t, row in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ("--model", model, "--set", "smoothing=0.0", "counting.power=2", "-o")
    done = run(site, "train", tmp_path / "train.jsonl", *options, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert f"{model}, as asked for" in done.stderr
    done = run(site, "predict", tmp_path / "m", "--text", "a leather belt", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["labels"][0]["label"] == "clothing"
    done = run("", "predict", tmp_path / "m", "--text", "a leather belt")  # it is not installed
    assert done.returncode == StoreError.exit_code
    assert f"the model is of kind '{model}', which this version does not know" in done.stderr


def test_the_command_line_lists_it_and_its_settings(site):
    listed = run(site, "train", "--list-settings", "-m", "acme-words", "--json")
    rows = {row["name"]: row for row in json.loads(listed.stdout)}
    assert rows["counting.power"]["default"] == 1.0
    assert rows["counting.power"]["help"] == "Power of a word's weight."
    assert rows["smoothing"]["help"] == "Added to every weight."
    assert "features.min_df" in rows
    shown = " ".join(run(site, "train", "--help").stdout.replace("│", " ").split())
    assert "of other packages: acme-reader, acme-words" in shown
    unknown = run(site, "train", "data", "-o", "m", "-m", "acme-word")
    assert unknown.returncode == ConfigError.exit_code
    assert "there is no model 'acme-word': did you mean 'acme-words'?" in unknown.stderr


def test_names_come_after_ours_and_import_nothing(installed):
    assert model_names() == [*built_in_models(), *paper_models(), "acme-reader", "acme-words"]
    assert "acme_words" not in sys.modules
    assert dict(lookup.summaries())["acme-words"] == "labels by the words they share"
    assert "acme_words.model" not in sys.modules


def test_a_tagger_takes_it_by_name_and_comes_back_from_disk(installed, tmp_path):
    tagger = Tagger("acme-reader", settings={"smoothing": 0.0}).fit(TEXTS, LABELS)
    assert tagger.features_ is None
    assert tagger.model_.counting.power == 3.0
    tagger.save(tmp_path / "m")
    assert {"acme-words", "acme-reader"} <= set(kinds())
    again = Tagger.load(tmp_path / "m")
    assert again.predict(TEXTS) == tagger.predict(TEXTS)
    with pytest.raises(ConfigError, match="CountingConfig.power must be > 0, got -1"):
        Tagger("acme-reader", settings={"counting.power": -1}).fit(TEXTS, LABELS)


BROKEN = "the package acme-broken declares the model 'acme-bad' as "


@pytest.mark.parametrize(
    ("home", "source", "message"),
    [
        ("acme_broken:SPEC", "import nowhere_to_be_found", r"\(ModuleNotFoundError: .*nowhere"),
        ("acme_broken:SPEC", "1 / 0", r"cannot be imported \(ZeroDivisionError"),
        ("acme_broken:SPEC", "", r"cannot be imported \(AttributeError"),
        ("acme_broken:SPEC", "SPEC = 3", "whose type is int, not ModelSpec: upgrade or uninstall"),
        (
            "acme_broken:SPEC",
            "from multitudes.models import ModelSpec\nSPEC = ModelSpec('other', '', 'a:b')",
            "whose name is 'other': the two must be equal",
        ),
    ],
)
def test_a_broken_package_is_named(tmp_path, fresh, monkeypatch, home, source, message):
    entries = {"acme-bad": home}
    site = install(tmp_path, entries, name="acme-broken", files={"__init__.py": source})
    monkeypatch.syspath_prepend(str(site))
    with pytest.raises(ConfigError, match=f"{BROKEN}{home}.*{message}"):
        Tagger("acme-bad").check()
    assert dict(lookup.summaries())["acme-bad"].startswith(BROKEN)
    Tagger("xr-linear").check()  # ours work as ever
    with pytest.raises(StoreError, match=f"kind 'acme-kind'.*{BROKEN}"):
        class_of("acme-kind")


MADE = """
def fails():
    raise KeyError("no")

class Silent:
    def __repr__(self):
        return "Silent()"

class NoTopK:
    def fit(self, X, y): ...
    def predict(self, X): ...

class Needy(NoTopK):
    def __init__(self, size): ...

def gives_class():
    return NoTopK
"""


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("'multitudes.encoder:Prime', reads='features'", "is declared to read features, and its"),
        ("'acme_nowhere.model:Words'", "ModuleNotFoundError.*uninstall the package acme_nowhere"),
        ("'acme_broken:Words'", "acme_broken:Words cannot be imported .AttributeError"),
        ("'acme_broken.bad:Words'", "SyntaxError.*uninstall the package acme_broken"),
        ("'acme_broken.made:fails'", "cannot be made from acme_broken.made:fails .KeyError: 'no'"),
        ("'acme_broken.made:Silent'", r"must have fit\(X, y\) and predict\(X, top_k=\)"),
        ("'acme_broken.made:NoTopK'", r"must have fit\(X, y\) and predict\(X, top_k=\)"),
        ("'acme_broken.made:gives_class'", "and what was made is the class NoTopK"),
        ("'acme_broken.made:Needy'", "TypeError.*upgrade or uninstall the package acme_broken"),
    ],
)
def test_a_model_that_cannot_be_made_is_named_too(tmp_path, fresh, monkeypatch, rest, message):
    source = f"from multitudes.models import ModelSpec\nSPEC = ModelSpec('acme-bad', '', {rest})"
    entries = {"acme-bad": "acme_broken:SPEC"}
    files = {"__init__.py": source, "bad.py": "def", "made.py": MADE}
    site = install(tmp_path, entries, name="acme-broken", files=files)
    monkeypatch.syspath_prepend(str(site))
    with pytest.raises(ConfigError, match=message):
        Tagger("acme-bad").check()


def test_a_name_of_ours_is_not_for_others(tmp_path, fresh, monkeypatch):
    source = (
        "from multitudes.models import ModelSpec\n"
        "SPEC = ModelSpec('parabel', '', 'multitudes.linear:XRLinear')"
    )
    entries = {"parabel": "acme_thief:SPEC"}
    site = install(tmp_path, entries, name="acme-thief", files={"__init__.py": source})
    monkeypatch.syspath_prepend(str(site))
    with pytest.warns(RuntimeWarning, match="the package acme-thief declares a model 'parabel'"):
        spec = model_spec("parabel")
    assert spec is built_in_models()["parabel"]
    assert model_names() == [*built_in_models(), *paper_models()]
    assert model_spec("xr-linear").name == "xr-linear"


def test_settings_of_a_spec_are_those_of_the_estimator():
    spec = ModelSpec("mine", "", "multitudes.linear:XRLinear", {"solver__cost": 2.0})
    assert spec.make_model().solver.cost == 2.0
    wrong = ModelSpec("mine", "", "multitudes.linear:XRLinear", {"solver__coast": 2.0})
    with pytest.raises(ConfigError, match="SolverConfig has no setting 'coast'"):
        wrong.make_model()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "name must be a name that is not empty, got ''"),
        ({"summary": None}, "summary must be a str, got None"),
        ({"make": "acme"}, "make must be \"module:name\", a class or a function, got 'acme'"),
        ({"make": 3}, "make must be"),
        ({"reads": "text"}, 'reads must be "features" or "texts", got \'text\''),
        ({"stored": ["a"]}, "stored must be a mapping with str as keys, got .'a'."),
        ({"stored": {"a": 3}}, 'stored must be a mapping of kind to "module:Class"'),
        ({"stored": {"a": "acme.model"}}, 'stored must be a mapping of kind to "module:Class"'),
        ({"settings": None}, "settings must be a mapping"),
        ({"updates": "yes"}, "updates must be True or False, got 'yes'"),
    ],
)
def test_a_spec_that_is_wrong_is_refused_at_once(changes, message):
    given = {"name": "mine", "summary": "", "make": "acme:Model"} | changes
    with pytest.raises(ConfigError, match=message):
        ModelSpec(**given)


def test_a_kind_of_two_packages_is_nobodys(site, tmp_path, fresh, monkeypatch):
    source = (
        "from multitudes.models import ModelSpec\n"
        "SPEC = ModelSpec('acme-late', '', 'acme_late:Late', stored={'acme-words': 'acme_late:L'})"
    )
    entries = {"acme-late": "acme_late:SPEC"}
    late = install(tmp_path, entries, name="acme-late", files={"__init__.py": source})
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.syspath_prepend(str(late))
    with pytest.raises(StoreError, match="kind 'acme-words' is declared by the package") as caught:
        class_of("acme-words")
    assert "acme_late:L" in str(caught.value)
    assert "acme_words.model:WordCounts" in str(caught.value)
    assert class_of("acme-reader").__name__ == "TextCounts"


FORGETFUL = """
from acme_words import READER
from acme_words.model import WordCounts
from multitudes.models import ModelSpec

class Forgetful(WordCounts):
    kind = "acme-forgotten"

class Thief(WordCounts):
    kind = "acme-words"

SPEC = ModelSpec("acme-forgetful", "", Forgetful)
THIEF = ModelSpec("acme-thief", "", Thief)
TYPO = ModelSpec("acme-typo", "", Forgetful, stored={"acme-forgotten": "acme_late:Forgetfull"})
"""


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"acme-forgetful": "acme_late:SPEC"},
            "Forgetful writes the kind 'acme-forgotten', which no ModelSpec.stored declares: add",
        ),
        ({"acme-thief": "acme_late:THIEF"}, "Thief writes the kind 'acme-words', which is decl"),
        ({"acme-typo": "acme_late:TYPO"}, "whose declared class cannot be loaded: .*Forgetfull"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(installed, tmp_path, monkeypatch, entry, message):
    late = install(tmp_path, entry, name="acme-late", files={"__init__.py": FORGETFUL})
    monkeypatch.syspath_prepend(str(late))
    tagger = Tagger(next(iter(entry))).fit(TEXTS, LABELS)
    with pytest.raises(StoreError, match=message):
        tagger.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


class Odd:
    """A model of somebody else; what goes wrong is a setting."""

    reads_texts = False

    def __init__(self, *, wrong: str = "") -> None:
        self.wrong = wrong

    def get_params(self, deep: bool = True) -> dict[str, str]:
        return {"wrong": self.wrong}

    def set_params(self, **params: str) -> Odd:
        self.__dict__ |= params
        return self

    def fit(self, X, y):
        if self.wrong == "fit raises":
            raise KeyError("no such word")
        return None if self.wrong == "fit returns None" else self

    def predict(self, X, *, top_k=5):
        if self.wrong == "predict raises":
            raise IndexError("out of range")
        if self.wrong == "too few rows":
            return Predictions.from_lists([[0]], None, 3)
        return [[0]] * X.shape[0]


class OddReader(Odd):
    reads_texts = True


@pytest.mark.parametrize("model", [Odd, OddReader])
def test_a_model_whose_fit_fails_is_named(model):
    with pytest.raises(TrainingError, match=rf"{model.__name__}.fit failed \(KeyError:") as caught:
        Tagger(model(wrong="fit raises")).fit(TEXTS, LABELS)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(TrainingError, match="fit must return the model, got NoneType"):
        Tagger(model(wrong="fit returns None")).fit(TEXTS, LABELS)
    groups = {"g": ["fruit"], "h": ["belts"]}
    with pytest.raises(TrainingError, match=rf"{model.__name__}.fit failed \(KeyError:"):
        Tagger(model(wrong="fit raises")).fit_groups(TEXTS, ["g", "g", "h", "h"], groups)


def test_a_model_whose_predict_fails_is_named():
    def found(wrong: str) -> object:
        return Tagger(Odd(wrong=wrong)).fit(TEXTS, LABELS).predict(TEXTS)

    with pytest.raises(MultitudesError, match=r"Odd.predict failed \(IndexError: out") as caught:
        found("predict raises")
    assert isinstance(caught.value.__cause__, IndexError)
    with pytest.raises(MultitudesError, match="Odd.predict must return .*Predictions, got list"):
        found("")
    with pytest.raises(MultitudesError, match="Odd.predict returned 1 rows for 4 instances"):
        found("too few rows")


def test_an_error_of_our_own_models_stays_as_it_is(monkeypatch):
    def fit(self, X, y):
        raise KeyError("a bug of ours")

    monkeypatch.setattr("multitudes.linear.OneVsAll.fit", fit)
    with pytest.raises(KeyError):
        Tagger("one-vs-all").fit(TEXTS, LABELS)
