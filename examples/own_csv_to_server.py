# %% [markdown]
# # From a CSV of your own to a served model
#
# The same steps as `multitudes train my.csv -o model --validation 0.1`, `predict`, `evaluate` and
# `serve`, in Python. Needs `pip install 'multitudes[serve]' pandas httpx`.

# %%
import pandas as pd
from fastapi.testclient import TestClient

from multitudes import Dataset, Tagger
from multitudes.data import make_catalogue, split
from multitudes.server import make_app

# %% [markdown]
# ## The data
#
# A table with texts and labels. Here a generated catalogue plays your CSV.

# %%
shop = make_catalogue(4_000, n_labels=300, random_state=0).dataset
tags = [";".join(shop.labels_of(i)) for i in range(len(shop))]
pd.DataFrame({"title": shop.texts, "tags": tags}).to_csv("my.csv", index=False)
frame = pd.read_csv("my.csv", keep_default_na=False)
print(frame.head(3))

# %%
data = Dataset.from_pandas(frame, text="title", labels="tags", separator=";")
rest, test = split(data, test_size=0.1, random_state=0)
train, validation = split(rest, test_size=0.1, random_state=0)
print(train)

# %% [markdown]
# ## Train and calibrate
#
# Without a name, the model is chosen by the size of the data; `choice_` says why. Calibration makes
# probabilities of scores, and label sets of the right size.

# %%
tagger = Tagger().fit(train).calibrate(validation)
print(tagger.choice_)
print(tagger.calibration_report())

# %% [markdown]
# ## How good is it?

# %%
report = tagger.evaluate(test)
print(report.table())
sets = tagger.evaluate(test, sets=True)
print(f"sets: micro-F1 {100 * sets['micro-F1']:.1f} %")

# %% [markdown]
# ## Look at single texts

# %%
text = "Finest hand-blown champagne flute, from Porto"
for tag in tagger.predict_sets([text])[0]:
    print(f"{tag.label:20} {tag.score:.2f}")
best = tagger.predict([text], top_k=1)[0][0].label
print(tagger.explain(text, best))

# %% [markdown]
# ## New texts, new labels
#
# What was learned stays; probabilities have to be fitted again.

# %%
tagger.add_labels(["Tent pegs, ten, steel", "Small tent, for two"], [["tents"], ["tents"]])
tagger.calibrate(validation).save("model")
print(len(tagger.classes_), "labels, the last is", tagger.classes_[-1])

# %% [markdown]
# ## Serve it
#
# `multitudes serve model` listens at a port; a test client needs none.

# %%
client = TestClient(make_app(Tagger.load("model")))
answer = client.post("/v1/predict", json={"texts": [text], "kind": "sets"}).json()
print(answer)
