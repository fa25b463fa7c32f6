"""An Annif project with omikuji, trained on one of the data sets, and Annif's server with gunicorn.

``python -m benchmarks.annif_project --data ../shared/data/eurlex-titles`` makes it beforehand, and
prints the command that serves it. Annif runs in an environment of its own; see `benchmarks.peers`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import ROOT
from benchmarks.peers import PeerError, python_of
from multitudes.data import Dataset, ReadOptions, read_dataset

PROJECT = "omikuji"
VOCABULARY = "labels"
URI = "http://example.org/label/"
FOLDER = ROOT / ".cache" / "annif"
CONFIGURATION = f"""\
[{PROJECT}]
name=omikuji
language=en
backend=omikuji
vocab={VOCABULARY}
analyzer=snowball(english)
min_df=2
limit=100
"""


@dataclass(frozen=True)
class AnnifProject:
    """A folder in which Annif has one project.

    Parameters
    ----------
    folder : Path
    """

    folder: Path

    @classmethod
    def made(cls, data: Path) -> AnnifProject:
        """Return the project of a data set, trained if it is not there yet."""
        project = cls(FOLDER / data.name)
        done = project.folder / "trained"
        if not done.exists():
            project.folder.mkdir(parents=True, exist_ok=True)
            (project.folder / "projects.cfg").write_text(CONFIGURATION)
            train = read_dataset(data, options=ReadOptions(split="trn"))
            _write_corpus(train, project.folder)
            project.annif("load-vocab", "--force", VOCABULARY, "labels.tsv", "--language", "en")
            project.annif("train", PROJECT, "train.tsv")
            done.touch()
        return project

    def annif(self, *arguments: str) -> None:
        """Run one of Annif's commands."""
        print(f"annif {' '.join(arguments)} ...", file=sys.stderr)
        command = [str(_binary("annif")), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeerError(f"{shlex.join(command)} failed:\n{done.stderr[-2000:]}")

    def command(self, *, port: int, workers: int) -> list[str]:
        """Return the command that serves the project, as Annif's documentation has it."""
        return [
            str(_binary("gunicorn")),
            "annif:create_app()",
            f"--bind=127.0.0.1:{port}",
            f"--workers={workers}",
            "--worker-class=uvicorn.workers.UvicornWorker",
        ]

    @contextmanager
    def serving(self, *, port: int, workers: int) -> Iterator[str]:
        """Serve it; gives the address that suggests subjects."""
        server = subprocess.Popen(
            self.command(port=port, workers=workers),
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        try:
            yield f"http://127.0.0.1:{port}/v1/projects/{PROJECT}/suggest"
        finally:
            server.terminate()
            server.wait(60)


def _binary(name: str) -> Path:
    return python_of("annif").parent / name


def _write_corpus(train: Dataset, folder: Path) -> None:
    """Write the vocabulary and the texts in Annif's forms."""
    titles = train.label_titles or train.label_names or []
    vocabulary = (f"<{URI}{place}>\t{_line(title)}\n" for place, title in enumerate(titles))
    (folder / "labels.tsv").write_text("".join(vocabulary), "utf-8")
    with (folder / "train.tsv").open("w", encoding="utf-8") as corpus:
        for row, text in enumerate(train.texts or ()):
            labels = train.Y.indices[train.Y.indptr[row] : train.Y.indptr[row + 1]]
            uris = " ".join(f"<{URI}{label}>" for label in labels)
            corpus.write(f"{_line(text)}\t{uris}\n")


def _line(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    """Make a project."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    project = AnnifProject.made(parser.parse_args().data)
    print(f"cd {project.folder}", file=sys.stderr)
    print(shlex.join(project.command(port=5000, workers=2)))


if __name__ == "__main__":
    main()
