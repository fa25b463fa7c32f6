"""The real Annif asks us through its http backend, alone and as a source of an ensemble."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("rdflib")

from multitudes.server import Limits
from tests.peer.annif_workspace import ANNIF, OMIKUJI, REASON, Workspace
from tests.server.crafts import BELTS, crafts_tagger
from tests.server.serving import serving

pytestmark = pytest.mark.skipif(not ANNIF.exists(), reason=REASON)

OURS, ENSEMBLE = "crafts-multitudes-en", "crafts-ensemble-en"
TEXT = "medieval leather belts"
PROJECTS = f"""
[{OURS}]
name=Crafts by multitudes
language=en
backend=http
vocab=crafts
endpoint=%s/v1/projects/crafts/suggest

[{ENSEMBLE}]
name=Crafts by both
language=en
backend=ensemble
vocab=crafts
sources={OMIKUJI},{OURS}
"""


@pytest.fixture(scope="module")
def tagger():
    return crafts_tagger()


@pytest.fixture(scope="module")
def workspace(tagger, tmp_path_factory):
    with serving({"crafts": tagger}, Limits(grace_seconds=1)) as served:
        made = Workspace.make(tmp_path_factory.mktemp("annif"), PROJECTS % served.url)
        made.train()
        yield made


def suggested(workspace: Workspace, project: str) -> dict[str, float]:
    """Scores by URI, as Annif prints them."""
    lines = workspace.run("suggest", project, given=TEXT).splitlines()
    parts = [line.split("\t") for line in lines if line.startswith("<")]  # omikuji logs, too
    return {part[0].strip("<>"): float(part[-1]) for part in parts}


def test_annif_gets_our_scores_and_mixes_them_with_its_own(workspace, tagger):
    ours = suggested(workspace, OURS)
    assert ours == {
        tag.label: pytest.approx(tag.score, abs=1e-4) for tag in tagger.predict([TEXT], top_k=10)[0]
    }
    omikujis, both = suggested(workspace, OMIKUJI), suggested(workspace, ENSEMBLE)
    assert both == {
        uri: pytest.approx((ours.get(uri, 0) + omikujis.get(uri, 0)) / 2, abs=1e-3) for uri in both
    }
    assert next(iter(both)) == BELTS
    assert both.keys() == ours.keys() | omikujis.keys()


def test_annif_sees_that_our_project_is_trained(workspace):
    lines = workspace.run("show-project", OURS).splitlines()
    shown = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    assert shown["Trained"] == "True"
    assert shown["Modification time"].startswith("20")


def test_annif_evaluates_the_ensemble(workspace):
    lines = workspace.run("eval", ENSEMBLE, "corpus.tsv").splitlines()
    found = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    assert found["Documents evaluated"] == "6"
    assert float(found["Precision@1"]) == 1.0
