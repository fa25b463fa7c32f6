"""Print the text of a PDF as JSON: run as a program of its own, which knows pypdf alone.

``python -P program.py MAX_CHARACTERS MAX_PAGES MEMORY SECONDS < file.pdf``. What went wrong is
printed too, as ``error`` or ``too_large``.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys


def limit(memory: int, seconds: int) -> None:
    """Let all others go first, and have the system end this process when it takes more."""
    try:
        import resource
    except ImportError:  # Windows: the time limit of the server remains
        return
    os.nice(15)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def text_of(content: bytes, max_characters: int, max_pages: int) -> dict[str, str]:
    """Return the text, or what is wrong."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "it is protected by a password"}
    if len(reader.pages) > max_pages:
        n = len(reader.pages)
        return {"too_large": f"the PDF has {n:,} pages, at most {max_pages:,} are read"}
    texts: list[str] = []
    characters = 0
    for page in reader.pages:
        texts.append(page.extract_text())
        characters += len(texts[-1])
        if characters > max_characters:
            n = len(texts)
            return {
                "too_large": f"the text of the PDF has more than {max_characters:,} characters "
                f"after {n:,} pages: send fewer pages"
            }
    # Halves of characters, which broken fonts give, cannot be sent.
    whole = "\n\n".join(texts).encode("utf-8", "replace").decode()
    return {"text": whole}


def main() -> None:
    """Read a PDF from stdin."""
    max_characters, max_pages, memory, seconds = map(int, sys.argv[1:])
    limit(memory, seconds)
    logging.disable()
    try:
        found = text_of(sys.stdin.buffer.read(), max_characters, max_pages)
    except MemoryError:
        found = {"error": "it needs too much memory"}
    except Exception as error:  # noqa: BLE001  files break in every way
        found = {"error": f"{type(error).__name__}: {error}"[:300]}
    sys.stdout.buffer.write(json.dumps(found).encode())


if __name__ == "__main__":
    main()
