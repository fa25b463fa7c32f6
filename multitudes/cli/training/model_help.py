"""Help about models: their names, and their settings."""

from __future__ import annotations

import typer


def models_help() -> str:
    """Return the help of --model, with the names of all models."""
    from multitudes.models import built_in_models, model_names, paper_models

    ours, papers = built_in_models(), paper_models()
    over_features = [name for name, spec in ours.items() if spec.reads == "features"]
    over_texts = [name for name, spec in ours.items() if spec.reads == "texts"]
    added = [name for name in model_names() if name not in {**ours, **papers}]
    parts = [
        f"over features: {', '.join(over_features)}",
        f"reading texts: {', '.join(over_texts)}",
        f"as their papers have them: {', '.join(papers)}",
        *([f"of other packages: {', '.join(added)}"] if added else []),
        "or auto, the default: as many as fit into --budget, fused",
    ]
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]


def features_help() -> str:
    """Return the help of --features, with a few words about each."""
    from multitudes.models.features import FEATURES

    named = "; ".join(f"{spec.name}: {spec.summary}" for spec in FEATURES)
    return (
        f"What models over features learn from. {named}; encoder:FOLDER: embeddings of a saved "
        "text encoder. Several, with commas between, side by side. By default tfidf."
    )


def show_settings(model: str, features: str | None, *, json: bool) -> None:
    """Show all settings of a model and its features, from the Config classes."""
    from multitudes.cli.printing.show import console, show_json, table
    from multitudes.models import model_spec
    from multitudes.tagger import describe_settings
    from multitudes.tagger.assembly import describe_group_settings
    from multitudes.tagger.presets import default_features, full_model, named_features

    spec = model_spec("xr-linear" if model == "auto" else model)
    own = default_features(spec) if features is None else named_features(features)
    rows = describe_settings(full_model(spec), own)
    rows += describe_group_settings()
    if json:
        show_json([{"name": n, "default": value, "help": doc} for n, value, doc in rows])
        return
    typer.echo(f"Settings of {spec.name}, for --set NAME=VALUE:\n")
    console().print(table(["name", "default", ""], [[n, str(v), d] for n, v, d in rows], left=3))
