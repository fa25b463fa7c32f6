"""Memory is asked for before it is taken: sizes, limits, and the sentence of a refusal."""

from __future__ import annotations

import mmap
import re
import sys

import pytest

from multitudes import memory
from multitudes.cli import main
from multitudes.errors import ConfigError, ResourceError

GB = 10**9


@pytest.fixture(autouse=True)
def without_variable(monkeypatch):
    monkeypatch.delenv(memory.VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        ("8GB", 8 * GB), ("512MB", 512 * 10**6), (" 1.5 gb ", 1_500_000_000), ("2GiB", 2 << 30),
        ("8G", 8 * GB), ("100", 100), ("100 B", 100), (".5KB", 500), ("1TB", 10**12), (7, 7),
    ],
)  # fmt: skip
def test_sizes_are_read(size, n_bytes):
    assert memory.parse_size(size) == n_bytes


@pytest.mark.parametrize(
    "size",
    ["", "much", "GB", "-1GB", "0", "1e9", "1,5GB", "٣GB", "9" * 5000, 0, -5, True, 1.5, None],
)
def test_what_is_no_size_is_a_setting_error(size):
    with pytest.raises(ConfigError, match="^memory_limit must be") as refusal:
        memory.parse_size(size)
    assert len(str(refusal.value)) < 200


def test_the_default_is_a_share_of_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "_free_on_machine", lambda: 10 * GB)
    monkeypatch.setattr(memory, "_free_in_groups", lambda: iter([5 * GB, 7 * GB]))
    monkeypatch.setattr(memory, "_free_addresses", lambda: None)
    assert memory.limit() == 4 * GB
    monkeypatch.setattr(memory, "_free_addresses", lambda: 1 * GB)
    assert memory.limit() == 0.8 * GB


def test_this_machine_says_something_sensible():
    assert 1 << 20 < memory.limit() < 1 << 50


@pytest.mark.parametrize("said", [None, "MemTotal: 8 kB\n", "MemAvailable: much\n"])
def test_where_linux_does_not_say_psutil_is_asked(monkeypatch, tmp_path, said):
    place = tmp_path / "meminfo"
    if said is not None:
        place.write_text(said)
    monkeypatch.setattr(memory, "_MACHINE", place)
    assert 1 << 20 < memory._free_on_machine() < 1 << 50
    place.write_text("MemTotal:  16 kB\nMemAvailable:   12 kB\n")
    assert memory._free_on_machine() == 12 * 1024


def test_a_machine_that_does_not_say_is_trusted(monkeypatch):
    for name in ("_free_on_machine", "_free_addresses"):
        monkeypatch.setattr(memory, name, lambda: None)
    monkeypatch.setattr(memory, "_free_in_groups", lambda: iter(()))
    assert memory.limit() == sys.maxsize


def test_control_groups_of_both_versions_are_read_up_to_the_root(monkeypatch, tmp_path):
    inner = tmp_path / "job" / "step"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("5\n")
    (tmp_path / "job" / "memory.max").write_text("1000\n")
    (tmp_path / "job" / "memory.current").write_text("400\n")
    (tmp_path / "job" / "memory.stat").write_text("anon 300\ninactive_file 100\n")
    first = tmp_path / "memory" / "box"
    first.mkdir(parents=True)
    (first / "memory.limit_in_bytes").write_text("900\n")
    (first / "memory.usage_in_bytes").write_text("200\n")
    listed = tmp_path / "cgroup"
    listed.write_text("4:memory:/box\n3:cpu,cpuacct:/box\n0::/job/step\n")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "_OWN_CGROUPS", listed)
    assert sorted(memory._free_in_groups()) == [700, 700]


def test_a_limit_counts_what_the_process_holds(monkeypatch):
    monkeypatch.setattr(memory, "_held", lambda: 3 * GB)
    with memory.limited("5GB"):
        assert memory.limit() == 2 * GB
        with memory.limited("2GB"):
            assert memory.limit() == 0
        with memory.limited(None):
            assert memory.limit() == 2 * GB
    assert memory._chosen == []


def test_what_is_held_grows_with_what_is_written():
    # Pages of the system's own: numpy may get some that the process had before.
    pages = mmap.mmap(-1, 48_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    before = memory._held()
    pages.write(b"1" * len(pages))
    assert 30_000_000 < memory._held() - before < 120_000_000
    pages.close()


def test_the_environment_sets_a_limit(monkeypatch):
    monkeypatch.setattr(memory, "_held", lambda: 0)
    monkeypatch.setenv(memory.VARIABLE, "3GB")
    assert memory.limit() == 3 * GB
    with memory.limited("1GB"):
        assert memory.limit() == 1 * GB
    monkeypatch.setenv(memory.VARIABLE, "much")
    with pytest.raises(ConfigError, match="MULTITUDES_MAX_MEMORY must be a size"):
        memory.limit()


def test_a_refusal_names_both_numbers_and_what_to_do(monkeypatch):
    monkeypatch.setattr(memory, "_held", lambda: 0)
    with memory.limited("2GB"):
        memory.ask(2 * GB, "x.npz: a matrix")
        with pytest.raises(ResourceError) as refusal:
            memory.ask(24 * GB, "x.npz: a matrix of 3,000,000,000 rows", advice="check the file")
    assert str(refusal.value) == (
        "x.npz: a matrix of 3,000,000,000 rows needs 24.0 GB of memory, and 2.0 GB may be taken "
        "(the limit is 2.0 GB, of which 0 bytes are in use): check the file, or raise the limit: "
        "multitudes.memory.limited('30GB')"
    )


@pytest.mark.parametrize("exponent", range(6, 300, 7))
def test_any_number_of_bytes_can_be_refused(exponent):
    with memory.limited(1), pytest.raises(ResourceError, match="x needs .* may be taken"):
        memory.ask(10**exponent + 1, "x")


def test_the_command_line_takes_the_limit_and_speaks_in_flags(tmp_path, capsys):
    data = tmp_path / "data.jsonl"
    data.write_text('{"text": "a b", "labels": ["x"]}\n' * 4)
    with pytest.raises(SystemExit) as left:
        main(["convert", str(data), str(tmp_path / "out.csv"), "--memory", "much"])
    assert left.value.code == 2
    assert "--memory must be a size" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(["convert", str(data), str(tmp_path / "out.csv"), "--max-memory", "900GB"])
    assert left.value.code == 0
    assert memory._chosen == []


def test_all_verbs_that_read_data_or_models_take_it():
    from multitudes.cli.app import app

    with_flag = {
        command.callback.__name__
        for command in app.registered_commands
        if re.search("memory_limit", str(command.callback.__signature__))
    }
    assert with_flag == {
        "train", "predict", "evaluate", "compare", "calibrate", "update", "fuse", "tune", "serve",
        "convert", "group", "inspect",
    }  # fmt: skip
