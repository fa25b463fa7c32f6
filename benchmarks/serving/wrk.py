"""Load by wrk: many connections, each of which asks again as soon as it is answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = """
local bodies, at = {}, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
wrk.headers["content-type"] = os.getenv("KIND")
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", nil, nil, bodies[at])
end
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests": %d, "seconds": %f, "p50_ms": %f, "p90_ms": %f, "p99_ms": %f, ' ..
    '"p999_ms": %f, "max_ms": %f, "refused": %d, "not_sent": %d, "not_read": %d, ' ..
    '"not_ok": %d, "too_late": %d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3,
    latency.max / 1e3, e.connect, e.write, e.read, e.status, e.timeout))
end
"""
ERRORS = ("refused", "not_sent", "not_read", "not_ok", "too_late")


@dataclass(frozen=True)
class Load:
    """What is asked, and how.

    Parameters
    ----------
    bodies : Path
        A request on each line.
    kind : str
        The content type of requests.
    connections : int
    """

    bodies: Path
    kind: str = "application/json"
    connections: int = 64

    def run(self, url: str, seconds: float) -> dict[str, Any]:
        """Ask for some time; returns counts and percentiles."""
        binary = shutil.which("wrk")
        if binary is None:
            raise SystemExit("wrk is not installed: apt-get install wrk")
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(SCRIPT)
            script.flush()
            command = [binary, "-t1", f"-c{self.connections}", f"-d{max(1, round(seconds))}s"]
            done = subprocess.run(
                [*command, "--timeout", "10s", "-s", script.name, url],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "BODIES": str(self.bodies), "KIND": self.kind},
            )
        found = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if not found:
            raise SystemExit(f"wrk failed:\n{done.stdout}\n{done.stderr}")
        result: dict[str, Any] = json.loads(found[0].removeprefix("RESULT "))
        result["per_second"] = result["requests"] / result["seconds"]
        result["errors"] = sum(result[name] for name in ERRORS)
        return result
