"""Models by name: what this library brings, and what other installed packages add.

A model with a name can be used everywhere: ``Tagger("xr-linear")``, ``--model``,
``--list-settings``, and the store, which loads declared classes alone. Each family of models
declares its own here, in a module of its name with a tuple ``MODELS`` of `ModelSpec`; nothing here
imports the models themselves. Another package declares one `ModelSpec` per entry point of the
group ``multitudes.models``, under the name of the model::

    [project.entry-points."multitudes.models"]
    centroids = "acme.declared:CENTROIDS"

That module is imported to list models, so it should import nothing heavy either.
"""

from multitudes.models.lookup import built_in_models, model_names, model_spec, paper_models
from multitudes.models.spec import ModelSpec

__all__ = ["ModelSpec", "built_in_models", "model_names", "model_spec", "paper_models"]
