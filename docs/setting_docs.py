"""Griffe extension: the fields of a `Config` are documented by their `setting(...)`.

The API reference reads docstrings; a setting has its sentence, default and limits in one call.
"""

from __future__ import annotations

import ast
from typing import Any

import griffe


class SettingDocs(griffe.Extension):
    """Give each attribute that is declared by ``setting(default, doc, ...)`` its docstring.

    So does one of a parent that is declared again, by ``setting_again(Parent, name, default)``.
    """

    def on_attribute_instance(
        self, *, node: ast.AST | griffe.ObjectNode, attr: griffe.Attribute, **kwargs: Any
    ) -> None:
        """Read the call, its default and its limits, from the source."""
        call = getattr(node, "value", None)
        made_by = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
        if made_by == "setting_again":
            config, _, default = map(ast.unparse, call.args)
            text = f"As in `{config}`. Default: `{default}`."
            attr.docstring = griffe.Docstring(text, parent=attr)
            attr.value = None
        if made_by != "setting":
            return
        default, doc = ast.unparse(call.args[0]), call.args[1]
        limits = [keyword for keyword in call.keywords if keyword.arg != "search"]
        named = [f"{limit.arg} {ast.unparse(limit.value)}" for limit in limits]
        allowed = f" Allowed: {', '.join(named)}." if named else ""
        text = f"{ast.literal_eval(doc)} Default: `{default}`.{allowed}"
        attr.docstring = griffe.Docstring(text.replace("at_least", "at least").replace(
            "at_most", "at most"), parent=attr)  # fmt: skip
        attr.value = None
