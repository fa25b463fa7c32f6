"""Studies run in pieces: what is found is stored at once, and records grow by what is added."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.evidence import queue
from benchmarks.evidence.record import gather, stored_runs
from benchmarks.evidence.study import Study, jobs_of
from benchmarks.report.storing import lacking, problems
from multitudes.errors import DataError, ResourceError


def made_up(source, settings, seed):
    return {"P@1": settings["height"] + seed, "files": len(list(source.iterdir()))}


STUDY = Study(
    "heights",
    "Is high better than low?",
    {"low": {"height": 1.0}, "high": {"height": 10.0, "tags": ("a", "b")}},
    made_up,
    {"small": {}},
    {"width": 3},
)


@pytest.fixture
def places(tmp_path):
    """Folders for data sets, for what runs find, and for records."""
    for name in ("data/small", "out", "results"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "data/small/trn.txt").write_text("text")
    return tmp_path


def run(places, *, seeds, rows=(), study=STUDY):
    for job in jobs_of(study, "small", seeds=seeds, rows=rows):
        queue.do(job, places / "data" / "small", places / "out")


def gathered(places, study=STUDY):
    (path,) = gather(places / "out", places / "data", [study], results=places / "results")
    return json.loads(path.read_text())


def forget(places):
    for path in (places / "out").iterdir():
        path.unlink()


def test_a_record_has_question_data_settings_and_the_values_of_all_seeds(places):
    run(places, seeds=3)
    record = gathered(places)
    assert problems(record) == []
    assert [p for p in lacking(record) if not p.startswith("commit")] == []
    assert record["question"] == STUDY.question
    assert record["settings"] == {"width": 3}
    high = record["rows"]["high"]
    assert high["seeds"] == [0, 1, 2]
    assert high["measures"]["P@1"]["values"] == [10, 11, 12]
    assert high["measures"]["P@1"]["mean"] == 11
    assert high["measures"]["P@1"]["margin"] == pytest.approx(2.484, abs=1e-3)  # 4.303 / sqrt(3)


def test_a_record_grows_by_what_another_run_adds(places):
    run(places, seeds=3)
    whole = gathered(places)
    forget(places)
    (places / "results" / "heights-small.json").unlink()
    run(places, seeds=1, rows=["high"])
    gathered(places)
    forget(places)
    run(places, seeds=3, rows=["low"])
    gathered(places)
    forget(places)
    run(places, seeds=3, rows=["high"])
    again = gathered(places)
    assert list(again["rows"]) == list(whole["rows"])
    for name, row in whole["rows"].items():
        assert again["rows"][name]["seeds"] == row["seeds"]
        assert again["rows"][name]["measures"] == row["measures"]


def test_what_a_record_has_is_known_by_its_file(places):
    run(places, seeds=2)
    gathered(places)
    jobs = jobs_of(STUDY, "small")
    known = stored_runs([STUDY], places / "results")
    assert [job.seed for job in jobs if job.file_name not in known] == [2, 2]
    assert {job.file_name for job in jobs} >= known.keys()


@pytest.mark.parametrize(
    "changed",
    [
        replace(STUDY, common={"width": 4}),
        replace(STUDY, rows={name: {"height": 2.0} for name in STUDY.rows}),
    ],
)
def test_runs_with_other_settings_are_not_taken_for_these(places, changed):
    run(places, seeds=3)
    gathered(places)
    assert stored_runs([changed], places / "results") == {}


def test_runs_on_other_data_are_left_out_of_a_record(places):
    run(places, seeds=3)
    gathered(places)
    forget(places)
    (places / "data/small/trn.txt").write_text("another text")
    run(places, seeds=1)
    assert gathered(places)["rows"]["low"]["seeds"] == [0]


def test_commits_of_all_runs_are_told(places, monkeypatch):
    for commit in ("b" * 10, "a" * 10):
        monkeypatch.setattr(queue, "describe", lambda commit=commit: {"commit": commit})
        run(places, seeds=1, rows=["low" if commit[0] == "a" else "high"])
        record = gathered(places)
        forget(places)
    assert record["machine"]["commits"] == ["a" * 10, "b" * 10]
    assert lacking(record) == problems(record) == []


def test_nothing_new_makes_no_record(places):
    run(places, seeds=1)
    gathered(places)
    forget(places)
    assert gather(places / "out", places / "data", [STUDY], results=places / "results") == []


def test_what_found_too_little_memory_is_tried_again(places, monkeypatch):
    asked = []

    def short_of_memory(source, settings, seed):
        asked.append(settings["height"])
        if asked == [1.0]:
            raise ResourceError("the GPU ran out of memory")
        if settings["height"] == 10.0:
            raise DataError("made up to fail")
        return made_up(source, settings, seed)

    study = replace(STUDY, run=short_of_memory)
    monkeypatch.setitem(queue.STUDIES, study.name, study)
    jobs = [[study.name, "small", row, 0, str(places / "data" / "small")] for row in study.rows]
    (places / "out" / queue.JOBS).write_text(json.dumps(jobs))
    (places / "out" / queue.CLAIMS).mkdir()
    queue.work(places / "out")
    assert asked == [1.0, 10.0, 1.0]
    assert list(gathered(places, study)["rows"]) == ["low"]


def test_rows_that_mean_the_same_are_run_once(places):
    def meaning(data, settings):
        return {key: value for key, value in settings.items() if (key, value) != ("depth", 0)}

    rows = {"low": {"height": 1.0}, "flat": {"height": 1.0, "depth": 0}}
    study = replace(STUDY, rows=rows, meaning=meaning)
    run(places, seeds=1, study=study)
    assert len([*(places / "out").glob("*.json")]) == 1
    found = gathered(places, study)["rows"]
    assert found["low"]["measures"] == found["flat"]["measures"]


def test_a_row_that_spells_out_what_it_had_is_not_run_again(places):
    run(places, seeds=1)
    gathered(places)
    rows = {name: {**settings, "depth": 0} for name, settings in STUDY.rows.items()}

    def meaning(data, settings):
        return {key: value for key, value in settings.items() if (key, value) != ("depth", 0)}

    assert stored_runs([replace(STUDY, rows=rows)], places / "results") == {}
    assert stored_runs([replace(STUDY, rows=rows, meaning=meaning)], places / "results")


def test_a_record_keeps_its_own_rows_though_another_study_has_older_ones(places):
    other = replace(STUDY, name="others", rows={"low": STUDY.rows["low"]})

    def gather_all(studies):
        gather(places / "out", places / "data", studies, results=places / "results")
        forget(places)

    def height_of(name):
        record = json.loads((places / "results" / f"{name}-small.json").read_text())
        return record["rows"]["low"]["measures"]["P@1"]["values"]

    run(places, seeds=1)
    for path in (places / "out").iterdir():  # of older code
        found = json.loads(path.read_text())
        found["values"]["P@1"] -= 0.5
        path.write_text(json.dumps(found))
    gather_all([STUDY, other])
    run(places, seeds=1)
    gather_all([STUDY])
    run(places, seeds=1, rows=["high"])
    gather_all([STUDY, other])
    assert height_of("heights") == [1.0]
    assert height_of("others") == [0.5]
