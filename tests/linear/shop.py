"""Catalogue lines as TF-IDF, in two parts: small, but with a real long tail of labels."""

from __future__ import annotations

from typing import Any, NamedTuple

from multitudes.data import make_catalogue
from multitudes.features import TfidfFeatures
from multitudes.metrics import precision_at_k


class Shop(NamedTuple):
    """Training and test part."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any

    def with_labels(self, labels: Any) -> Shop:
        """The same instances with only these labels, in this order."""
        return self._replace(Y=self.Y[:, labels], Y_test=self.Y_test[:, labels])


def shop(
    n: int = 4_000, *, n_test: int = 4_000, n_labels: int = 400, random_state: int = 1
) -> Shop:
    """`n` training and `n_test` test lines."""
    made = make_catalogue(n + n_test, n_labels=n_labels, random_state=random_state).dataset
    features = TfidfFeatures()
    X, X_test = features.fit_transform(made.texts[:n]), features.transform(made.texts[n:])
    return Shop(X, made.Y[:n], X_test, made.Y[n:])


def precisions(model: Any, X: Any, Y: Any) -> list[float]:
    """P@1, P@3 and P@5 in percent."""
    found = model.predict(X, top_k=5)
    return [100 * precision_at_k(found, Y, k=k) for k in (1, 3, 5)]
