from __future__ import annotations


def test_demo_shows_metrics_tags_and_what_to_try_next(cli, tmp_path):
    result = cli("demo", "--instances", 1_000, "-o", tmp_path / "model")
    assert result.code == 0
    for words in ("labels.", "Trained in", "nDCG", "Texts it has never seen", "Try next:"):
        assert words in result.out
    tagged = cli("predict", tmp_path / "model", "--text", "leather belt", "-k", 1, "--json")
    assert len(tagged.json[0]["labels"]) == 1


def test_a_folder_that_is_not_a_model_is_refused_before_the_work(cli, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    result = cli("demo", "-o", tmp_path)
    assert result.code == 4
    assert result.out == ""
