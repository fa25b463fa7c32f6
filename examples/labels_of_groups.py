# %% [markdown]
# # Labels that are known for groups of texts only
#
# The categories of an order are known, but not which of its lines has which. The labels of a group
# are assigned to its texts first, and a model is trained on that.

# %%
from multitudes import Dataset, Tagger
from multitudes.data import make_catalogue, merge_labels, split
from multitudes.groups import random_groups

shop = make_catalogue(4_000, n_labels=200, random_state=2).dataset
train, test = split(shop, test_size=0.2, random_state=0)

# %% [markdown]
# ## Orders of four lines
#
# Every line's labels are known here, so that we can see what is lost by not knowing them.

# %%
groups = random_groups(len(train), 4, random_state=0)
group_labels = merge_labels(train.Y, groups)
orders = Dataset(
    Y=train.Y,
    texts=train.texts,
    label_names=train.label_names,
    groups=groups,
    group_labels=group_labels,
)
print(f"{groups.shape[1]} orders, {group_labels.sum() / groups.shape[1]:.1f} labels each")

# %% [markdown]
# ## Three ways to learn

# %%
ways = {
    "every line's labels": Tagger("xr-linear").fit(train),
    "labels of orders": Tagger("xr-linear").fit(orders, from_groups=True),
    "labels of orders, three rounds": Tagger(
        "xr-linear", settings={"groups.rounds": 3}
    ).fit(orders, from_groups=True),
}  # fmt: skip
precision = {name: tagger.evaluate(test)["P@1"] for name, tagger in ways.items()}
for name, value in precision.items():
    print(f"{name}: P@1 {100 * value:.1f} %")

# %% [markdown]
# ## How well were labels assigned?
#
# The lines' own labels are known here, so the tagger can say how many went to the right line.

# %%
print(ways["labels of orders"].group_report_)
