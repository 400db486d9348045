"""Shows the examples of docstrings as code: an extension of griffe, which mkdocs.yml names."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Fences what stands from `>>>` to the next empty line."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        self.on_object(obj=pkg)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            block = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.M)
            obj.docstring.value = block.sub(
                lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", obj.docstring.value
            )
