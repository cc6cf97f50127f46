"""The base of a widget that lives in a notebook with a kernel and on a page without one."""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar

import anywidget

from specmini.widgets import assemble
from specmini.widgets.settings import SettingError

MIME = "application/vnd.specmini.widget+json"


class PageWidget(anywidget.AnyWidget):
    """An anywidget whose output also says how a page without a kernel can show it.

    A subclass sets ``script_name``, marks its traits for the page (``Number`` and ``Choice`` do it
    by themselves; ``.tag(sync=True, page=True)`` for others) and writes ``fallback_html``.

    Raises:
        ValueError: there is no setting of a name that was given.
    """

    script_name: ClassVar[str] = ""

    def __init__(self, **settings: Any) -> None:
        # traitlets would only warn, and a misspelled setting would keep its default.
        if unknown := sorted(settings.keys() - set(self.trait_names())):
            known = ", ".join(sorted(self.trait_names(page=True)))
            raise SettingError(
                f"settings of {type(self).__name__} must be some of {known}, got {unknown[0]!r}"
            )
        super().__init__(**settings)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # traitlets' add_traits() makes subclasses at run time; their _esm is a trait already.
        if "script_name" in cls.__dict__:
            cls._esm = assemble.module(cls.script_name)
            cls._css = assemble.stylesheet()
        super().__init_subclass__(**kwargs)

    def page_state(self) -> dict[str, Any]:
        """Return the settings that a page needs, in the order of their names."""
        return {name: getattr(self, name) for name in sorted(self.trait_names(page=True))}

    def page_key(self) -> str:
        """Return a short hash of the widget and its settings."""
        content = json.dumps([self.script_name, self.page_state()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def fallback_html(self) -> str:
        """Return what a reader without JavaScript sees."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if bundle is not None else ({}, {})
        page = {
            "widget": self.script_name,
            "key": self.page_key(),
            "state": self.page_state(),
            "fallback": self.fallback_html(),
        }
        return {**data, MIME: page}, metadata
