# %% [markdown]
# # Labels that mean several things
#
# "Jaguar" is a car and a cat. In a label tree such a label lives in one leaf, and texts of its
# other meaning are led elsewhere. With overlap it may live in several.

# %%
from multitudes import Tagger
from multitudes.data import make_catalogue, split

shop = make_catalogue(12_000, n_labels=1_200, random_state=1)
train, test = split(shop.dataset, test_size=0.2, random_state=0)
print(train)
print("labels with several meanings:", shop.ambiguous_labels[:6])

# %% [markdown]
# ## With and without overlap

# %%
plain = Tagger("xr-linear").fit(train)
overlapping = Tagger("xr-linear", settings={"overlap": 2, "match_width": 1}).fit(train)
for name, tagger in (("one leaf for each label", plain), ("up to two leaves", overlapping)):
    report = tagger.evaluate(test)
    print(f"{name}: P@1 {100 * report['P@1']:.1f}, P@5 {100 * report['P@5']:.1f}")

# %% [markdown]
# ## What does a label mean?
#
# A sense is a label in one of its leaves: how many texts use it so, the labels beside it, and the
# words that tell it.

# %%
for sense in overlapping.senses("jaguar"):
    words = ", ".join(word for word, _ in sense.words[:5])
    print(f"{sense.n_instances} texts, beside {', '.join(sense.nearest[:2])}: {words}")

# %% [markdown]
# ## Which labels should be looked at?
#
# Labels whose senses lie farthest apart come first: a list to read before cleaning up a vocabulary.

# %%
for found in overlapping.ambiguous_labels(top_k=8):
    print(found)
