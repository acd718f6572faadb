"""A real browser on a real server on a real snapshot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from dashboard.launch import HOST, prepare, running

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as `gatewatch demo` leaves it; GATEWATCH_E2E_EVENTS says how many events, 3,000 otherwise."""
    folder = tmp_path_factory.mktemp("demo") / "gatewatch-data"
    events = os.environ.get("GATEWATCH_E2E_EVENTS", "3000")
    command = [sys.executable, "-m", "gatewatch", "--data", str(folder), "demo", "--no-dashboard", "--events", events]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture(scope="session")
def server(data: Path) -> Iterator[str]:
    """The address of a dashboard for `data`."""
    launch = prepare(data)
    with running(launch):
        yield launch.url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("platform: no chromium on this machine")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


OpenPage = Callable[..., Page]


def settle(page: Page) -> None:
    """Wait until the server has drawn the page and the browser has it."""
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for(timeout=90_000)
    page.wait_for_function("document.querySelector('[data-testid=stSkeleton]') === null", timeout=90_000)
    page.wait_for_timeout(500)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open an address in a browser that knows nothing yet. Every request must have stayed on this machine, and no page
    may have complained, by the end of the test.
    """
    contexts, asked, complaints = [], [], []

    def opened(address: str, *, width: int = 1280, height: int = 900, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        page.goto(address)
        settle(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    outside = [url for url in asked if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != HOST]
    assert asked
    assert outside == []
    assert complaints == []
