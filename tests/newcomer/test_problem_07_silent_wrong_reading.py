"""Problem 7: columns, Annif's TSV and pandas' lists were read wrongly, without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitudes.data import ReadOptions, read_dataset

PRODUCTS = (
    "id;Product Name;Description;Tags\n"
    "1;Leather belt;brown, with a buckle;belts|leather goods\n"
    "2;Timing belt;for diesel engines;belts\n"
)


@pytest.fixture
def products(tmp_path: Path) -> Path:
    path = tmp_path / "products.csv"
    path.write_text(PRODUCTS)
    return path


def test_all_text_columns_are_read_and_named(products: Path) -> None:
    dataset = read_dataset(products)
    assert dataset.texts == (
        "Leather belt brown, with a buckle",
        "Timing belt for diesel engines",
    )
    assert dataset.labels_of(0) == ["belts", "leather goods"]
    assert dataset.report is not None
    assert dataset.report.taken == (
        "text: Product Name + Description, labels: Tags (split at '|'), uid: id"
    )


def test_the_command_line_says_at_once_what_it_took(cli, products: Path, tmp_path: Path) -> None:
    result = cli("convert", products, tmp_path / "out.jsonl")
    assert result.code == 0
    first = result.err.splitlines()[0]
    assert first.startswith(f"{products} (csv): text: Product Name")
    assert "split at '|'" in result.err
    assert cli("convert", products, tmp_path / "out.jsonl", "-q").err == ""


@pytest.mark.parametrize("asked", [["Description", "Product Name"], "Description,product_name"])
def test_columns_are_joined_in_the_order_asked_for(products: Path, asked: object) -> None:
    dataset = read_dataset(products, options=ReadOptions(text_column=asked))  # type: ignore[arg-type]
    assert dataset.texts is not None
    assert dataset.texts[1] == "for diesel engines Timing belt"


def test_fields_of_json_lines_are_joined_too(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"Title": "a", "body": "c", "abstract": "b", "year": "x", "tags": ["t"]}\n')
    assert read_dataset(path).texts == ("a b c",)
    chosen = ReadOptions(text_column=("body", "year"))
    assert read_dataset(path, options=chosen).texts == ("c x",)


def test_uris_of_annif_are_labels_each(tmp_path: Path) -> None:
    path = tmp_path / "annif.tsv"
    path.write_text("a text\t<http://x/1> <http://x/2>\nanother\t<http://x/2>\n")
    dataset = read_dataset(path)
    assert dataset.labels_of(0) == ["http://x/1", "http://x/2"]
    assert dataset.n_labels == 2


def test_lists_of_pandas_are_lists(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    path = tmp_path / "frame.csv"
    tags = [["a", "b, c"], ["it's"], []]
    pd.DataFrame({"text": ["x", "y", "z"], "tags": tags}).to_csv(path)
    dataset = read_dataset(path)
    assert [dataset.labels_of(i) for i in range(3)] == tags
    assert dataset.report is not None
    assert "labels: tags (lists)" in dataset.report.taken
