"""The small disk of the campaign `kills` fills up, and is seen by nobody else."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# In a process of its own, which leaves the mounts of the system.
FILLED = """
import errno, sys
from pathlib import Path
from campaigns.framework import Skipped
from campaigns.kills.small_disk import mounted

place = Path(sys.argv[1])
try:
    with mounted(place) as disk:
        (place / "old").write_bytes(bytes(50_000))
        disk.leave(20_000)
        try:
            (place / "new").write_bytes(bytes(40_000))
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
        else:
            raise AssertionError("there was room")
        disk.clear_space()
        (place / "new").write_bytes(bytes(40_000))
        assert len(list(place.iterdir())) == 2
    assert not list(place.iterdir())
except Skipped as why:
    print("skipped:", why)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="file systems are mounted as Linux does")
def test_a_small_disk_fills_up_and_goes(tmp_path):
    place = tmp_path / "small"
    command = [sys.executable, "-c", FILLED, str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    if "skipped:" in done.stdout:
        pytest.skip(done.stdout)
    assert not place.is_mount()
    assert list(place.iterdir()) == []
