"""Pictures of the server's page: ``python docs/figures/page.py`` writes page-*.png beside it.

What they show is real: models are trained on the generated catalogue and served, and Chromium
(``make browser``) uses the page as people do.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from multitudes.data import make_catalogue, write_dataset

HERE = Path(__file__).parent
TEXT = (
    "For the drive home: an E-type bonnet catch, Coventry pattern, boxed set, in the maker's own "
    "box.\n\nAnd for the evening after it, a finest hand-blown champagne flute from Porto, "
    "dishwasher safe, with a handmade walnut stand. It was twice the price."
)
COMMANDS = (
    "train train.jsonl -o catalogue -m xr-linear --overlap 2 --set match_width=1",
    "calibrate catalogue validation.jsonl",
    "train train.jsonl -o plain -m one-vs-all",
    "calibrate plain validation.jsonl",
)


def multitudes(*arguments: str) -> list[str]:
    """The command line, with the Python that runs this."""
    return [sys.executable, "-m", "multitudes", *arguments]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Train two models, serve them, and give the address."""
    shop = make_catalogue(12_000, n_labels=400, random_state=1).dataset
    write_dataset(shop[:10_000], folder / "train.jsonl")
    write_dataset(shop[10_000:], folder / "validation.jsonl")
    paths = [str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    for command in COMMANDS:
        run = multitudes(*command.split())
        subprocess.run(run, cwd=folder, env=env, check=True, capture_output=True)
    options = ["--port", "0", "--corrections", "corrections.jsonl"]
    serve = multitudes("serve", "catalogue", "plain words=plain", *options)
    server = subprocess.Popen(serve, cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        found = (re.search(r"http://[\d.]+:\d+", line) for line in server.stderr)
        yield next(address[0] for address in found if address)
    finally:
        server.terminate()
        server.communicate(timeout=60)


@contextmanager
def opened(browser: Browser, url: str, width: int = 1280, **options: Any) -> Iterator[Page]:
    """The page with a text and its labels."""
    size = {"width": width, "height": 860}
    page = browser.new_context(viewport=size, reduced_motion="reduce", **options).new_page()
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    page.fill("#text", TEXT)
    page.wait_for_selector(".tag")
    yield page
    page.context.close()


def open_label(page: Page, label: str) -> None:
    """Open a label, and wait for all that is shown of it."""
    page.click(f".tag[data-label='{label}'] .tag-open")
    page.wait_for_selector("#lights mark")
    page.wait_for_selector(".inside-rest h3")
    page.mouse.move(0, 0)


def save(page: Page, name: str, **options: Any) -> None:
    """Take a picture, in as many colors as such a page has."""
    path = HERE / f"page-{name}.png"
    page.screenshot(path=path, **options)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(128).save(path, optimize=True)


def table() -> bytes:
    """A table as a shop has one."""
    texts = make_catalogue(300, n_labels=400, random_state=9).dataset.texts or ()
    rows = (f'{4700 + i},"{text}",{9 + i % 30}.90\r\n' for i, text in enumerate(texts))
    return "".join(["article,description,price\r\n", *rows]).encode()


def take_all(browser: Browser, url: str) -> None:
    """Take all pictures."""
    with opened(browser, url) as page:
        save(page, "text")
        open_label(page, "jaguar")
        page.set_viewport_size({"width": 1280, "height": 1320})
        save(page, "label")
        page.click(".tag[data-label='jaguar'] .tag-open")
        page.click(".verdict[data-kind=accept] >> nth=0")
        page.click(".verdict[data-kind=reject] >> nth=3")
        page.fill("#add", "handm")
        page.wait_for_selector("#add-options li")
        page.press("#add", "Enter")
        page.mouse.move(0, 0)
        save(page, "corrections", full_page=True)
    with opened(browser, url) as page:
        page.click("#views a[href='#table']")
        file = {"name": "wares.csv", "mimeType": "text/csv", "buffer": table()}
        page.set_input_files("#table input[type=file]", files=[file])
        page.check("#table [value=set]")
        page.click("text=Label 300 rows")
        page.wait_for_selector("text=Download CSV")
        save(page, "table", full_page=True)
    with opened(browser, url, color_scheme="dark") as page:
        page.select_option("#other", "plain words")
        page.wait_for_selector(".list:nth-child(2) .tag")
        save(page, "compare", full_page=True)
    with opened(browser, url, 390, color_scheme="dark") as page:
        open_label(page, "jaguar")
        save(page, "phone")


def main() -> None:
    """Write the pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("there is no Chromium here: run  make browser")
    with TemporaryDirectory() as folder, served(Path(folder)) as url, sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        take_all(browser, url)
        browser.close()


if __name__ == "__main__":
    main()
