"""The other pages in a real browser: they are reached, they fit, and what one opens another shows."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import duckdb
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage, settle

pytestmark = pytest.mark.e2e

PAGES = ("gates", "reconciliation", "tools", "kpis", "runs", "quality")


def _sql(data: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str((data / "gatewatch.duckdb").resolve()), read_only=True) as con:
        return con.execute(query).fetchall()


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window(name: str, width: int, data: Path, server: str, open_page: OpenPage) -> None:
    folder = Path(os.environ.get("GATEWATCH_SCREENSHOTS") or data / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    page = open_page(f"{server}/{name}?period=all", width=width)
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(700)
        page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
        assert _overflow(page) == 0


def _overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    main = page.get_by_test_id("stMain")
    return int(main.evaluate("main => main.scrollWidth - main.clientWidth"))


def test_from_the_overview_to_the_worst_drop_and_a_link_for_a_colleague(
    data: Path, server: str, open_page: OpenPage
) -> None:
    """What a manager does in the morning: the number, the gates, the drop, why it is one, and a link to just that."""
    page = open_page(f"{server}/?period=all")
    page.get_by_role("link", name="Gates", exact=True).click()
    page.wait_for_url("**/gates*")
    settle(page)
    # The period goes along.
    assert parse_qs(urlsplit(page.url).query)["period"] == ["all"]
    canvas = page.get_by_test_id("stDataFrame").locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 18, box["y"] + 36 + 17)
    page.wait_for_function("location.search.includes('finding=')")
    settle(page)
    (finding,) = parse_qs(urlsplit(page.url).query)["finding"]
    ((message, means),) = _sql(
        data,
        f"SELECT f.message, t.means FROM findings AS f INNER JOIN rule_texts AS t ON t.rule = f.rule "
        f"WHERE f.finding_id = '{finding}'",
    )

    colleague = open_page(page.url)

    for one in (page, colleague):
        expect(one.locator(".st-key-finding-message")).to_have_text(str(message))
        expect(one.get_by_text(str(means))).to_be_visible()
        expect(one.get_by_role("heading", name="The order that the policy demands")).to_be_visible()


def test_a_ticked_row_opens_its_run(data: Path, server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/?period=all&rows=silent-drops")
    ((run, tenant),) = _sql(
        data,
        "SELECT correlation_id, coalesce(tenant, '') FROM gate_checks WHERE silent "
        "ORDER BY shipped_ts DESC, subject, gate LIMIT 1",
    )
    canvas = page.locator(".st-key-rows").get_by_test_id("stDataFrame").locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 18, box["y"] + 36 + 17)

    page.wait_for_url("**/runs?*")
    settle(page)
    said = parse_qs(urlsplit(page.url).query, keep_blank_values=True)
    assert (said["run"], said["of"]) == ([str(run)], [str(tenant)])
    expect(page.locator(".st-key-run-name")).to_contain_text(str(run))
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    page.get_by_role("button", name="All runs").click()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()


def test_rows_are_downloaded_as_csv_without_formulas(server: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"{server}/quality?period=all&rows=quarantined-lines")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    file = tmp_path / "rows.csv"
    download.value.save_as(file)
    text = file.read_text(encoding="utf-8-sig")
    assert text.startswith("received_at,reason,errors,line,")
    assert download.value.suggested_filename == "gatewatch-quarantined-lines-snapshot-1.csv"
    assert len(text.splitlines()) > 3


def test_a_page_is_reached_by_keyboard(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/?period=all")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == "Gates":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/gates*")
