# %% [markdown]
# # A text encoder that takes new labels
#
# PRIME embeds texts, and makes a prototype for each label of its text, its training texts and a
# free vector. A label that it has never seen is placed by its text alone. Needs
# `pip install 'multitudes[deep]'`.

# %%
from multitudes import Tagger
from multitudes.data import make_catalogue, split

shop = make_catalogue(1_500, n_labels=40, random_state=0).dataset
train, test = split(shop, test_size=0.2, random_state=0)
print(train)

# %% [markdown]
# ## Train
#
# A small encoder with random weights, so that this runs anywhere within seconds. Leave these
# settings out for the pretrained `minilm`, 20 epochs of it: minutes on a GPU, hours on a CPU.

# %%
SMALL = {
    "backbone.name": "scratch",
    "backbone.scratch_dim": 32,
    "sampler.batch_size": 64,
    "training.epochs": 12,
    "training.learning_rate": 3e-3,
}
tagger = Tagger("prime", settings=SMALL).fit(train)
before = tagger.evaluate(test)
print(f"P@1 {100 * before['P@1']:.1f} %, P@5 {100 * before['P@5']:.1f} %")

# %% [markdown]
# ## Add labels
#
# With a few texts that have them; the others keep their vectors. `Prime.add_labels` takes labels
# without any text, too.

# %%
new = ["a gas stove for two, folds flat", "camping stove, burns twigs", "stove and pan, for tents"]
tagger.add_labels(new, [["camping stoves"]] * len(new))
print(tagger.predict(["stove for camping"], top_k=3))

# %% [markdown]
# ## What stands behind a score

# %%
print(tagger.explain("stove for camping", "camping stoves"))

# %% [markdown]
# ## Save
#
# The folder is also one of sentence-transformers: `SentenceTransformer("encoder-model")` reads it.

# %%
tagger.save("encoder-model")
