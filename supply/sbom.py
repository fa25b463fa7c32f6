"""Write a bill of materials (CycloneDX 1.6, JSON) of the library and its extras.

::

    python -m supply.sbom dist/multitudes.cdx.json

It lists what is installed here, with versions, licenses, and the hashes of the lock where there is
one. A release carries it, so that a person can tell which of them has a flaw that became known.
"""

from __future__ import annotations

import json
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from multitudes import __version__
from supply.lock import locked_hashes
from supply.packages import Package, declared, needed

VERSION_OF_FORMAT = "1.6"


def component(package: Package, sha256: str | None) -> dict[str, Any]:
    """One package."""
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
        "name": package.name,
        "version": package.version,
        "purl": f"pkg:pypi/{package.name}@{package.version}",
        "scope": "required" if "core" in package.needed_by else "optional",
        "licenses": [{"expression": package.license}],
        "properties": [{"name": "multitudes:comes-with", "value": ", ".join(package.needed_by)}],
    }
    if sha256:
        found["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    return found


def bill() -> dict[str, Any]:
    """The whole bill."""
    groups = [name for name in declared() if name != "dev"]
    packages, hashes = needed(groups), locked_hashes()
    ours = f"pkg:pypi/multitudes@{__version__}"
    components = [component(one, hashes.get((one.name, one.version))) for one in packages]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": VERSION_OF_FORMAT,
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "component": {
                "type": "library", "bom-ref": ours, "name": "multitudes", "version": __version__,
                "purl": ours, "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": components,
        "dependencies": [{"ref": ours, "dependsOn": [one["bom-ref"] for one in components]}],
    }  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{target}\n")
