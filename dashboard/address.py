"""Reads and writes the address of the page in the browser; `View` is what it says."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dashboard.view import View

_KEPT = "address-shared"
_PAGE = "address-page"
_TAKEN = "address-snapshot"
_SHOWN = "address-shown"
_RUN = "address-run"


def current() -> View:
    """The state that the address says."""
    return View.from_params({name: st.query_params.get_all(name) for name in st.query_params})


def go(view: View) -> None:
    """Change the address, and draw what it says then. It carries the number of the snapshot that it was taken from."""
    shown = st.session_state.get(_SHOWN)
    st.query_params.from_dict(replace(view, snapshot=shown or view.snapshot).to_params())


def enter(page: str) -> None:
    """Take period and filters along to another page of the same session, whose address has none of its own.

    A link from elsewhere has the say: it begins a session, or brings parameters.
    """
    before = st.session_state.get(_PAGE)
    if before not in (None, page) and not st.query_params.to_dict():
        kept = st.session_state.get(_KEPT)
        if kept is not None:
            go(kept)
    st.session_state[_PAGE] = page
    st.session_state[_KEPT] = current().shared()


def mark(snapshot: int) -> None:
    """Remember which snapshot is shown, and which one the address named when the session began: a link's.

    The address itself stays as it is: each change is a step of the browser's history, and nobody made this one.
    """
    if _TAKEN not in st.session_state:
        st.session_state[_TAKEN] = current().snapshot
    st.session_state[_SHOWN] = snapshot


def note(snapshot: int) -> None:
    """Say so, when the session began with a link that was taken from another snapshot than the one shown."""
    taken = st.session_state.get(_TAKEN)
    if taken is not None and taken != snapshot:
        st.caption(f"This link was taken from snapshot {taken}; you see snapshot {snapshot}, which may say more.")


def ask_for_run(run: str, of: tuple[str, ...]) -> None:
    """Have the page of runs opened for a correlation id of a tenant (``""``: of none; empty: of any), when the page is
    drawn next; period and filters go along."""
    st.session_state[_RUN] = run, of


def run_to_open() -> dict[str, list[str]] | None:
    """The address, without the page, of the run that was asked for; None when none was."""
    asked = st.session_state.pop(_RUN, None)
    if asked is None:
        return None
    return replace(current().shared(), run=asked[0], run_of=asked[1]).to_params()
