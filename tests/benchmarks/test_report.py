"""Pages are made from records: values, differences, tables, verdicts, and what is refused."""

from __future__ import annotations

import json

import pytest

from benchmarks.report.claims import ClaimError, Paper, summary
from benchmarks.report.figures import draw_rows
from benchmarks.report.layouts import layout_table
from benchmarks.report.pages import Sources, remade, remake
from benchmarks.report.records import Records
from benchmarks.report.rows import Rounds, measured, rows_of, rows_of_runs
from benchmarks.report.storing import data_folders, lacking, problems


def row(seeds, **measures):
    named = {name.replace("_at_", "@"): measured(values) for name, values in measures.items()}
    return {"settings": {}, "seeds": seeds, "measures": named}


@pytest.fixture
def records(tmp_path):
    """One record of three rows, and one of timings."""
    content = {
        "schema": 1,
        "study": "prime-order",
        "command": "python -m one",
        "data": {"small": "sha256:0"},
        "rows": {
            "plain": row([0, 1, 2], P_at_1=[70.0, 71.0, 72.0], seconds=[10, 11, 12]),
            "better - by far": row([0, 1, 2], P_at_1=[72.0, 73.0, 75.0], seconds=[20, 20, 20]),
            "one seed": row([1], P_at_1=[60.0]),
        },
        "machine": {"commits": ["0123456789"]},
    }
    (tmp_path / "one-small.json").write_text(json.dumps(content))
    sections = {
        "ours": {"seconds": Rounds([1.0, 2.0, 9.0]), "peak_mb": 2500.0, "version": "1.2"},
        "theirs": {"seconds": Rounds([4.0, 4.0, 9.0])},
        "of 2": {"labels": 40623},
    }
    timed = {**content, "data": {"made": "up"}, "rows": rows_of({"small": sections})}
    (tmp_path / "timed.json").write_text(json.dumps(timed))
    return Records(tmp_path)


def page(text, records, papers=None):
    problems = []
    made = remade(text, Sources(records, papers or {}), problems, "docs/page.md")
    return made, problems


def value(order, records):
    made, problems = page(f"a <!-- value: {order} -->old<!-- end --> b", records)
    assert problems == []
    return made.partition("-->")[2].partition("<!--")[0]


def test_a_value_is_a_mean_with_its_interval(records):
    assert value("one-small: plain | P@1", records) == "71.00 ± 2.48"  # 4.303 / sqrt(3)
    assert value("one-small: one seed | P@1", records) == "60.00"


def test_a_difference_is_taken_by_seed(records):
    # 2, 2 and 3: mean 7/3, deviation 1/sqrt(3), so 4.303 / 3
    assert value("one-small: better - by far - plain | P@1", records) == "+2.33 ± 1.43"
    assert value("one-small: one seed - plain | P@1", records) == "-11.00"


def test_a_ratio_is_taken_by_round(records):
    assert value("timed: small, theirs / small, ours | seconds", records) == "2.00"  # 4, 2, 1
    assert value("timed: small, ours | seconds", records) == "2.00"  # the median


@pytest.mark.parametrize(
    ("order", "shown"),
    [
        ("one-small: plain | P@1 | .1f", "71.0"),
        ("one-small: plain | P@1 | .1f ±", "71.0 ± 2.5"),
        ("one-small: plain | seeds | .0f", "3"),
        ("timed: small, ours | peak_mb | .1f x1e-3", "2.5"),
        ("timed: small, of 2 | labels | ,.0f", "40,623"),
        ("timed: small, ours - small, theirs | seconds | +.1f", "-2.0"),
    ],
)
def test_a_value_is_written_as_it_is_asked_for(order, shown, records):
    assert value(order, records) == shown


LAYOUTS = """
[by-columns]
records = ["timed"]
columns = ["small"]
rows."ours / theirs" = "**{$, ours | seconds | .1f}** / {$, theirs | seconds | .1f} s"
rows.version = ["1.2"]
[by-rows]
records = ["one-small"]
corner = "way"
empty = "-"
rows."a way" = ["plain", "good"]
rows.another = ["one seed", "bad"]
columns."P@1" = "{$ | P@1 | .1f}"
columns.seconds = "{$ | seconds | .1f}"
columns.verdict = "$2"
"""


def test_tables_are_laid_out_by_columns_or_by_rows(records, tmp_path):
    (tmp_path / "page.toml").write_text(LAYOUTS)
    assert layout_table("docs/page.md", "by-columns", records, tmp_path).splitlines()[2:] == [
        "| ours / theirs | **2.0** / 4.0 s |",
        "| version | 1.2 |",
    ]
    assert layout_table("docs/page.md", "by-rows", records, tmp_path).splitlines() == [
        "| way | P@1 | seconds | verdict |",
        "| --- | --- | --- | --- |",
        "| a way | 71.0 | 11.0 | good |",
        "| another | 60.0 | - | bad |",
    ]
    with pytest.raises(ValueError, match="nearest is 'by-rows'"):
        layout_table("docs/page.md", "by-row", records, tmp_path)


def test_rows_are_named_by_the_way_to_them():
    rows = rows_of(
        {"a": {"P@1": [1.0, 3.0], "kind": "x", "b": {"seconds": Rounds([3.0, 1.0, 2.0])}}}
    )
    assert list(rows) == ["a", "a, b"]
    assert rows["a"]["settings"] == {"kind": "x"}
    assert rows["a"]["seeds"] == [0, 1]
    assert rows["a"]["measures"]["P@1"]["mean"] == 2
    assert rows["a, b"]["measures"]["seconds"] == {
        "values": [3.0, 1.0, 2.0], "median": 2.0, "interval": [1.0, 3.0]
    }  # fmt: skip


def test_runs_of_a_name_are_the_seeds_of_a_row():
    runs = {"one, seed 3": {"f1": 1.0, "test": {"f1": 2.0}}, "one, seed 4": {"f1": 3.0}}
    rows = rows_of_runs(runs)
    assert rows["one"]["seeds"] == [3, 4]
    assert rows["one"]["measures"]["f1"]["values"] == [1.0, 3.0]
    assert rows["one, test"]["measures"]["f1"]["values"] == [2.0]


def test_what_a_record_lacks_and_what_is_wrong_with_it_is_told(records):
    record = json.loads(json.dumps(records["one-small"].content)) | {"settings": {}}
    record |= {"question": "Which?"}
    assert problems(record) == lacking(record) == []
    record["rows"]["plain"]["measures"]["P@1"]["mean"] = 72.0
    assert problems(record) == ["plain: P@1 is not what its values make"]
    record["rows"]["plain"]["measures"]["P@1"]["values"] = [70.0, 71.0]
    assert "plain: P@1 has not a value for each seed" in problems(record)
    record["machine"] = {"commits": ["0123456789+"]}
    record["data"] = {"small": None}
    assert lacking(record) == ["no checksum of small", "commits are not clean: ['0123456789+']"]


def test_a_table_has_rows_measures_and_where_they_are_from(records):
    made, problems = page(
        "<!-- table: one-small | P@1, seconds -->\n<!-- end of table -->", records
    )
    assert problems == []
    assert made.splitlines() == [
        "<!-- table: one-small | P@1, seconds -->",
        "",
        "|  | P@1 | seconds |",
        "| --- | --- | --- |",
        "| plain | 71.00 ± 2.48 | 11.00 ± 2.48 |",
        "| better - by far | **73.33 ± 3.79** | 20.00 ± 0.00 |",
        "| one seed | 60.00 |  |",
        "",
        "<small>small; 1 to 3 seeds; commit 01234567; `python -m one`</small>",
        "",
        "<!-- end of table -->",
    ]
    assert page(made, records)[0] == made
    some, _ = page("<!-- table: one-small | P@1 | plain -->\n<!-- end of table -->", records)
    assert "better" not in some


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("value: one-smal: plain | P@1 -->x<!-- end", "'one-smal'; the nearest is 'one-small'"),
        ("value: one-small: plane | P@1 -->x<!-- end", "'plane'; the nearest is 'plain'"),
        ("value: one-small: plain - plane | P@1 -->x<!-- end", "'plane'; the nearest is 'plain'"),
        ("value: one-small: plain | P@2 -->x<!-- end", "'P@2'; the nearest is 'P@1'"),
        ("value: one-small: one seed - plain | seconds -->x<!-- end", "'seconds'"),
        ("value: one-small: plain | P@1 | .1q -->x<!-- end", "'.1q'"),
        ("table: nothing -->\n<!-- end of table", "there is no tables/page.toml"),
        ("value: one-small -->x<!-- end", "RECORD: ROW"),
        ("table: one-small | P@1, P@2 -->\n<!-- end of table", "'P@2'"),
        ("table: one-small | P@1 | plane -->\n<!-- end of table", "'plane'"),
        ("verdicts: nobody -->\n<!-- end of verdicts", "no file of claims is called 'nobody'"),
    ],
)
def test_unknown_names_are_told_with_page_and_line(order, message, records):
    text = f"first\n<!-- {order} -->"
    made, problems = page(text, records)
    assert made == text
    (problem,) = problems
    assert problem.startswith("docs/page.md:2: ")
    assert message in problem


CLAIMS = """
paper = "A paper"
page = "prime.md"
[[claim]]
where = "Table 1"
claim = "Better | best"
verdict = "reproduced"
evidence = "P@1 {one-small: better - by far - plain | P@1}"
study = "prime-order"
note = "Plain {one-small: one seed | P@1}."
[[claim]]
where = "Section 5"
claim = "Costs little"
verdict = "not tried"
"""


def read(tmp_path, text):
    (tmp_path / "one.toml").write_text(text)
    return Paper.read(tmp_path / "one.toml")


def test_verdicts_have_numbers_seeds_data_commit_and_command(records, tmp_path):
    paper = read(tmp_path, CLAIMS)
    text = "<!-- verdicts: one -->\n<!-- end of verdicts -->"
    made, problems = page(text, records, {"one": paper})
    assert problems == []
    assert (
        "| Table 1 | Better \\| best | **reproduced** | P@1 +2.33 ± 1.43<br>Plain 60.00."
        "<br><small>1 to 3 seeds · small · 01234567</small><br><small>"
        "`python -m benchmarks.evidence run prime-order --data ../shared/data/small`</small> |\n"
        "| Section 5 | Costs little | **not tried** |  |\n"
    ) in made
    assert "| A paper | 1 | 0 | 0 | 1 | 2 |" in summary([paper])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"reproduced"', '"reproducd"', "nearest is 'reproduced'"),
        ("note = ", "notes = ", "unknown key 'notes'; the nearest is 'note'"),
        ('page = "prime.md"', 'pages = "prime.md"', "unknown key 'pages'"),
        ('page = "prime.md"', "", "no page"),
        ('study = "prime-order"', 'study = "prime-ordre"', "nearest is 'prime-order'"),
        ('study = "prime-order"', "", "no study or command"),
        ('where = "Table 1"', "", "no where"),
        ("[[claim]]", "[[claim", "one.toml"),
    ],
)
def test_claims_that_are_not_understood_are_refused(old, new, message, tmp_path):
    with pytest.raises(ClaimError, match=message):
        read(tmp_path, CLAIMS.replace(old, new))


def test_claims_about_unknown_rows_are_told(records, tmp_path):
    paper = read(tmp_path, CLAIMS.replace("- plain", "- plane"))
    _, problems = page("<!-- verdicts: one --><!-- end of verdicts -->", records, {"one": paper})
    assert "one.toml, Table 1: no row of one-small is called 'plane'" in problems[0]


def test_the_pages_of_this_repository_are_up_to_date():
    assert remake(write=False) == ([], [])


def test_an_old_page_is_named_and_made_anew(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("plain")
    old = tmp_path / "docs" / "old.md"
    old.write_text("<!-- summary of verdicts -->\n<!-- end of summary -->")
    assert remake(write=False, root=tmp_path) == (["docs/old.md"], [])
    assert "not tried" not in old.read_text()
    remake(write=True, root=tmp_path)
    assert "not tried" in old.read_text()
    assert remake(write=False, root=tmp_path) == ([], [])


def test_a_figure_of_rows_is_drawn(records, tmp_path):
    pytest.importorskip("matplotlib")
    path = draw_rows({"a": records["one-small"]}, "P@1", tmp_path / "a.png", x="row", y="P@1")
    assert path.stat().st_size > 1000


def test_data_folders_of_a_command_are_found(tmp_path):
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    a, b, c = map(str, folders)
    assert data_folders(["--seeds", "3", "--data", a, b, "missing", "--out", c]) == folders[:2]
    assert data_folders([a, f"--data={b}"]) == [folders[1]]
