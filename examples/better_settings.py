# %% [markdown]
# # Better settings, and whether they are
#
# The same as `multitudes tune train.jsonl --budget 20s --trials 8`, in Python: a search within a
# time, and a comparison with the default on data that nothing was chosen on. Needs
# `pip install 'multitudes[tune]'`.

# %%
from multitudes import Tagger, Tuner
from multitudes.config import between
from multitudes.data import make_catalogue
from multitudes.tuning import TuningConfig

data = make_catalogue(3_000, n_labels=300, random_state=0).dataset
print(data)

# %% [markdown]
# ## Search
#
# What the Tagger sets is fixed. By default all settings are searched that declare values worth
# trying; here two of them, one with values of our own. The default is trial 0. Trials learn from
# growing parts of the data, and bad ones end early. With `study="study.db"` a search that was
# stopped goes on later.

# %%
tuner = Tuner(
    Tagger("xr-linear", settings={"max_leaf_size": 50}, n_jobs=1),
    metric="nDCG@5",
    budget="20s",
    search={"overlap": None, "solver.cost": between(0.2, 5.0, log=True)},
    config=TuningConfig(n_trials=8),
)
result = tuner.tune(data)
print(result)

# %% [markdown]
# ## What it is worth
#
# The verdict is about the test part, which the search has not looked at. If the best cannot be
# told apart from the default, keep the default.

# %%
print(result.verdict())
print(result.importances())

# %% [markdown]
# ## Train with it
#
# In Python, or with the command that it prints.

# %%
tagger = result.tagger().fit(data)
print(result.command("train.jsonl", "model"))
