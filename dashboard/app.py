"""Entry point for ``streamlit run``: the frame around the pages. `dashboard.launch` starts it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard.app_pages import overview

_ASSETS = Path(__file__).with_name("assets")


def main() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="Gatewatch", page_icon=str(_ASSETS / "icon.svg"), layout="wide")
    st.logo(str(_ASSETS / "logo.svg"), size="large")
    st.html(_ASSETS / "style.css")
    st.navigation([st.Page(overview.page, title="Overview", default=True)], position="top").run()


main()
