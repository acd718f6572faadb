"""Open the app without a browser, and read what is on the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard.launch import DATA_VARIABLE

APP = Path(dashboard.__file__).with_name("app.py")


def open_app(monkeypatch: pytest.MonkeyPatch, data: Path, **params: str | list[str]) -> AppTest:
    """The overview of these query parameters over the snapshots of `data`, of all time unless they say otherwise; it
    must not raise."""
    return _opened(AppTest.from_file(str(APP), default_timeout=60), monkeypatch, data, params)


def open_page(monkeypatch: pytest.MonkeyPatch, data: Path, page: str, **params: str | list[str]) -> AppTest:
    """The same for another page, by the name of its module in `dashboard.app_pages`, without the frame of the app."""
    return _opened(AppTest.from_function(_page, kwargs={"name": page}, default_timeout=60), monkeypatch, data, params)


def _page(name: str) -> None:
    import importlib

    from dashboard.page import framed

    module = importlib.import_module(f"dashboard.app_pages.{name}")
    framed(module.draw, module.FILTERS)()


def _opened(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, data: Path, params: Mapping[str, str | list[str]]
) -> AppTest:
    monkeypatch.setenv(DATA_VARIABLE, str(data))
    for name, value in {"period": "all", **params}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def metrics(app: AppTest) -> dict[str, str]:
    """The cards: label → number."""
    return {metric.label: metric.value.replace("\u202f", " ") for metric in app.metric}


def said(app: AppTest) -> str:
    """Everything on the page that is words."""
    kinds = (
        app.title,
        app.subheader,
        app.caption,
        app.text,
        app.markdown,
        app.info,
        app.warning,
        app.error,
        app.success,
    )
    return "\n".join(element.value for kind in kinds for element in kind).replace("\u202f", " ")
