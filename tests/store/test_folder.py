from __future__ import annotations

from threading import Thread

import pytest

from multitudes.errors import StoreError
from multitudes.files import disk
from multitudes.files.lease import beside, take
from multitudes.store import load, save
from multitudes.store.folder import check_target

from .box import Box, number_of, numbered

TOKEN = "0123456789abcdef"


def entries(path) -> set[str]:
    return {p.name for p in path.iterdir()}


def data_folders(path) -> list[str]:
    return [name for name in entries(path) if name.startswith("data-")]


def test_first_save_leaves_only_the_model(tmp_path):
    save(numbered(1), tmp_path / "deep" / "model")
    assert entries(tmp_path / "deep") == {"model"}
    (data,) = data_folders(tmp_path / "deep" / "model")
    assert entries(tmp_path / "deep" / "model") == {"manifest.json", data}


def test_second_save_replaces_the_first(tmp_path):
    save(numbered(1), tmp_path / "model")
    save(numbered(2), tmp_path / "model")
    assert number_of(load(tmp_path / "model", verify=True)) == 2
    assert len(entries(tmp_path / "model")) == 2


def test_an_empty_folder_is_a_place_for_a_model(tmp_path):
    (tmp_path / "model").mkdir()
    save(numbered(1), tmp_path / "model")
    assert number_of(load(tmp_path / "model")) == 1


def test_a_loaded_model_can_be_saved_over_itself(tmp_path):
    save(numbered(5), tmp_path / "model")
    save(load(tmp_path / "model"), tmp_path / "model")
    assert number_of(load(tmp_path / "model", verify=True)) == 5


def test_old_arrays_stay_readable_after_a_new_save(tmp_path):
    save(numbered(1), tmp_path / "model")
    old = load(tmp_path / "model")
    save(numbered(2), tmp_path / "model")
    assert number_of(old) == 1


def test_a_link_keeps_pointing_to_the_folder(tmp_path):
    save(numbered(1), tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    save(numbered(2), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert number_of(load(tmp_path / "real")) == 2


def test_a_folder_of_other_files_is_refused_and_kept(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="not a model.*'thesis.tex'"):
        save(numbered(1), tmp_path)
    assert entries(tmp_path) == {"thesis.tex"}


def test_a_foreign_manifest_is_refused_and_kept(tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "a web app"}')
    with pytest.raises(StoreError, match="will not save over"):
        save(numbered(1), tmp_path)
    assert (tmp_path / "manifest.json").read_text() == '{"name": "a web app"}'


def test_a_file_is_refused_and_kept(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        save(numbered(1), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"


def test_user_files_beside_the_model_survive(tmp_path):
    save(numbered(1), tmp_path / "model")
    (tmp_path / "model" / "NOTES.md").write_text("mine")
    save(numbered(2), tmp_path / "model")
    assert (tmp_path / "model" / "NOTES.md").read_text() == "mine"


@pytest.mark.parametrize("existing", [False, True])
def test_a_failed_save_leaves_everything_as_it_was(tmp_path, existing):
    if existing:
        save(numbered(1), tmp_path / "model")
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    with pytest.raises(StoreError, match="must be a str"):
        save(Box(strings={"names": ["a", None]}), tmp_path / "model")  # type: ignore[list-item]
    assert sorted(str(p) for p in tmp_path.rglob("*")) == before


def test_a_full_disk_is_a_store_error_and_the_old_model_stays(tmp_path, monkeypatch):
    save(numbered(1), tmp_path / "model")

    def full(folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "sync_tree", full)
    with pytest.raises(StoreError, match="No space left.*untouched"):
        save(numbered(2), tmp_path / "model")
    assert number_of(load(tmp_path / "model", verify=True)) == 1
    assert len(entries(tmp_path / "model")) == 2


def test_leftovers_of_a_dead_save_are_removed_by_the_next(tmp_path):
    model = tmp_path / "model"
    save(numbered(1), model)
    for place in (tmp_path / f".model.saving-{TOKEN}", model / f".saving-{TOKEN}"):
        (place / "data").mkdir(parents=True)
    (model / f"data-{TOKEN}").mkdir()
    for lease in (beside(model), model / ".multitudes-lock", beside(model / "card.json")):
        lease.write_text("4194305\n")  # of a process that is gone
    (model / ".card.json.multitudes-tmp").touch()
    (tmp_path / f".other.saving-{TOKEN}").mkdir()  # belongs to another model
    save(numbered(2), model)
    assert entries(tmp_path) == {"model", f".other.saving-{TOKEN}"}
    assert len(entries(model)) == 2
    assert number_of(load(model, verify=True)) == 2


def test_leftovers_alone_do_not_make_a_folder_foreign(tmp_path):
    (tmp_path / "model" / f".saving-{TOKEN}").mkdir(parents=True)
    save(numbered(1), tmp_path / "model")
    assert number_of(load(tmp_path / "model")) == 1


def test_a_first_save_that_is_under_way_is_left_alone(tmp_path):
    model = tmp_path / "model"
    save(numbered(1), model)
    (tmp_path / f".model.saving-{TOKEN}").mkdir()
    lease = take(beside(model))
    other = Thread(target=lambda: save(numbered(2), model))  # this one has the lease
    other.start()
    other.join()
    assert number_of(load(model, verify=True)) == 2
    assert (tmp_path / f".model.saving-{TOKEN}").is_dir()
    lease.release()
    save(numbered(3), model)
    assert entries(tmp_path) == {"model"}


def test_a_place_is_tried_and_stays_as_it_is(tmp_path):
    check_target(tmp_path / "a" / "b")
    save(numbered(1), tmp_path / "model")
    check_target(tmp_path / "model")
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    for place in (tmp_path / "file" / "model", tmp_path / ("x" * 300)):
        with pytest.raises(StoreError, match="cannot save to .*: choose another path"):
            check_target(place)
    assert sorted(tmp_path.rglob("*")) == before
