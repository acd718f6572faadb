"""Entry point for ``streamlit run``: the frame around the pages. `dashboard.launch` starts it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard import address
from dashboard.app_pages import gates, kpis, overview, quality, reconciliation, runs, tools
from dashboard.page import framed

_ASSETS = Path(__file__).with_name("assets")

_PAGES = (
    (overview, "Overview", ""),
    (gates, "Gates", "gates"),
    (reconciliation, "Reconciliation", "reconciliation"),
    (tools, "Tools", "tools"),
    (kpis, "KPIs", "kpis"),
    (runs, "Runs", "runs"),
    (quality, "Data quality", "quality"),
)
"""Module, title, and path in the address; "" is the first page."""


def main() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="Gatewatch", page_icon=str(_ASSETS / "icon.svg"), layout="wide")
    st.logo(str(_ASSETS / "logo.svg"), size="large")
    st.html(_ASSETS / "style.css")
    pages = {
        path: st.Page(framed(module.draw, module.FILTERS), title=title, url_path=path or None, default=not path)
        for module, title, path in _PAGES
    }
    chosen = st.navigation(list(pages.values()), position="top")
    address.enter(chosen.title)
    run = address.run_to_open()
    if run is not None and "runs" in pages:
        st.switch_page(pages["runs"], query_params=run)
    chosen.run()


main()
