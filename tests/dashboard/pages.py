"""Open the app without a browser, and read what is on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard.launch import DATA_VARIABLE

APP = Path(dashboard.__file__).with_name("app.py")


def open_app(monkeypatch: pytest.MonkeyPatch, data: Path, **params: str | list[str]) -> AppTest:
    """The page of these query parameters over the snapshots of `data`; it must not raise."""
    monkeypatch.setenv(DATA_VARIABLE, str(data))
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, value in params.items():
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
