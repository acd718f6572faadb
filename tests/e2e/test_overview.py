"""The path that a manager walks, in a real browser: numbers, a finding, its timeline, and a link for a colleague."""

from __future__ import annotations

import http.client
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import duckdb
import pytest
from playwright.sync_api import Page, expect

from dashboard.launch import prepare, running
from dashboard.source import WATCH_SECONDS
from tests.dashboard.snapshots import NORMAL, about, event, finding, now, publish, rates
from tests.e2e.conftest import OpenPage, settle

pytestmark = pytest.mark.e2e

ALL = "/?period=all"

SCHEMES: tuple[Literal["light", "dark"], ...] = ("dark", "light")
WIDTHS = (1280, 420)


def _sql(data: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str((data / "gatewatch.duckdb").resolve()), read_only=True) as con:
        return con.execute(query).fetchall()


def _card(page: Page, label: str) -> str:
    card = page.get_by_test_id("stMetric").filter(has_text=label)
    return card.get_by_test_id("stMetricValue").inner_text().replace("\u202f", " ")


def _tick(page: Page, row: int, before: str | None = None) -> None:
    """Tick or untick a row of the table, counted from 0, and wait for the new address; the table is a canvas."""
    before = before or page.url
    canvas = page.get_by_test_id("stDataFrame").locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    # Below a header of 36 pixels, rows of 35; the first column holds the boxes to tick.
    page.mouse.click(box["x"] + 18, box["y"] + 36 + 35 * row + 17)
    page.wait_for_function("before => location.href !== before", arg=before)
    settle(page)


def _evidence(page: Page) -> list[str]:
    return page.locator('[class*="st-key-id-"] [data-testid="stText"]').all_inner_texts()


def test_the_numbers_are_what_sql_says(data: Path, server: str, open_page: OpenPage) -> None:
    page = open_page(server + ALL)

    ((checks, silent),) = _sql(data, "SELECT count(*), count(*) FILTER (WHERE silent) FROM gate_checks")
    ((broken,),) = _sql(
        data,
        "SELECT count(*) FROM reconciliation "
        "WHERE status IN ('phantom_execution', 'hidden_execution', 'partial_as_executed')",
    )
    ((rate,),) = _sql(data, "SELECT round(100 * avg((outcome = 'success')::INT), 1) FROM tool_calls")
    ((critical,),) = _sql(data, "SELECT count(*) FROM findings WHERE status = 'open' AND severity = 'critical'")
    assert silent
    assert broken
    assert critical
    expect(page.get_by_text(f"of {checks:,} checks")).to_be_visible()
    assert _card(page, "Silent gate drops") == f"{silent:,}"
    assert _card(page, "Broken executed flags") == f"{broken:,}"
    assert _card(page, "Success rate") == f"{rate} %"
    assert _card(page, "Open critical findings") == f"{critical:,}"
    expect(page.locator("h1")).to_have_text(f"{silent} silent gate drops, {broken} broken flags")


def test_a_finding_opens_to_its_timeline_and_its_link_shows_a_colleague_the_same(
    data: Path, server: str, open_page: OpenPage
) -> None:
    page = open_page(server + ALL)
    _tick(page, 0)

    ((finding_id, message, evidence),) = _sql(
        data,
        """
        SELECT f.finding_id, f.message, list(e.event_id ORDER BY e.ts, e.event_id)
        FROM (
            SELECT * FROM findings WHERE status = 'open' AND severity = 'critical'
            ORDER BY event_ts DESC, finding_id LIMIT 1
        ) AS f
        INNER JOIN events AS e ON list_contains(f.evidence, e.event_id)
        GROUP BY f.finding_id, f.message
        """,
    )
    assert parse_qs(urlsplit(page.url).query) == {"period": ["all"], "finding": [finding_id], "snapshot": ["1"]}
    expect(page.locator(".st-key-finding-message")).to_have_text(str(message))
    assert _evidence(page) == evidence

    colleague = open_page(page.url)

    expect(colleague.locator(".st-key-finding-message")).to_have_text(str(message))
    assert _evidence(colleague) == evidence
    # Closing gives the page without it, address included.
    colleague.get_by_role("button", name="Close").click()
    expect(colleague.locator(".st-key-finding-message")).to_have_count(0)
    assert parse_qs(urlsplit(colleague.url).query) == {"period": ["all"], "snapshot": ["1"]}


def test_the_jump_link_leads_to_the_opened_finding(data: Path, server: str, open_page: OpenPage) -> None:
    ((finding_id,),) = _sql(data, "SELECT finding_id FROM findings WHERE status = 'open' ORDER BY finding_id LIMIT 1")
    page = open_page(f"{server}/?period=all&finding={finding_id}")
    heading = page.get_by_role("heading", name="Opened finding")
    expect(heading).not_to_be_in_viewport()

    page.get_by_role("link", name="go to it").click()

    expect(heading).to_be_in_viewport()


def test_filters_live_in_the_address(data: Path, server: str, open_page: OpenPage) -> None:
    ((high, everything),) = _sql(
        data, "SELECT count(*) FILTER (WHERE severity = 'high'), count(*) FROM findings WHERE status = 'open'"
    )
    page = open_page(server + ALL)
    page.locator(".st-key-filter-severity input").click()
    page.get_by_role("option", name="high", exact=True).click()
    page.wait_for_function("location.search === '?period=all&severity=high&snapshot=1'")
    settle(page)

    sentence = re.compile(f"{high} of {everything} open findings")
    expect(page.get_by_text(sentence)).to_be_visible()
    expect(open_page(page.url).get_by_text(sentence)).to_be_visible()


def test_another_row_opens_its_finding_and_the_same_row_closes_it(server: str, open_page: OpenPage) -> None:
    page = open_page(server + ALL)
    _tick(page, 0)
    first = page.url
    _tick(page, 1, before=first)
    second = page.url
    assert parse_qs(urlsplit(second).query)["finding"] != parse_qs(urlsplit(first).query)["finding"]

    _tick(page, 1, before=second)

    assert "finding" not in parse_qs(urlsplit(page.url).query)
    expect(page.locator(".st-key-finding-message")).to_have_count(0)
    # The table's own export writes cells as they are: only ours, which neutralises formulas, is offered.
    page.get_by_test_id("stDataFrame").hover()
    expect(page.get_by_role("button", name=re.compile("csv", re.IGNORECASE))).to_have_count(0)


def test_the_server_answers_to_its_own_name_only(server: str) -> None:
    # A foreign page whose name is pointed to 127.0.0.1 would otherwise read everything (DNS rebinding).
    port = urlsplit(server).port
    assert port
    assert _handshake(port, f"127.0.0.1:{port}") == 101
    assert _handshake(port, f"evil.example:{port}") == 403


def _handshake(port: int, host: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {
        "Host": host,
        "Origin": f"http://{host}",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Protocol": "streamlit",
    }
    connection.request("GET", "/_stcore/stream", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_browser_goes_back_to_the_page_before_the_finding(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/?period=all&severity=high")
    _tick(page, 0)
    expect(page.locator(".st-key-finding-message")).to_be_visible()

    page.go_back()

    expect(page.locator(".st-key-finding-message")).to_have_count(0)
    assert urlsplit(page.url).query == "period=all&severity=high"


HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "![pixel](http://192.0.2.1/a.png) [link](http://192.0.2.1) **bold** :red[red] $x^2$ https://192.0.2.1/b"
)


def test_hostile_text_stays_text(tmp_path: Path, open_page: OpenPage) -> None:
    text = HOSTILE
    publish(
        tmp_path,
        **NORMAL
        | {
            "about": [about(policy=text[:60])],
            "outcome_rates": rates(text, 1, 3, 1),
            "findings": [
                finding(1, rule=text, subject=text, tenant=text, caller=text, tool=text, gate=text, message=text)
                | {"correlation_id": text, "evidence": ["h1"]}
            ],
            "events": [
                event("h1", "tool.invocation", 1, text, caller=text, tool=text, outcome="failed", note=text)
                | {"tenant": text},
                event("h2", "gate.decision", 2, text, by=text, gate=text, decision="passed", subject=text)
                | {"tenant": text},
            ],
        },
    )
    launch = prepare(tmp_path)
    with running(launch):
        page = open_page(launch.url + ALL)
        _tick(page, 0)
        # Menus and tooltips are drawn only when somebody looks.
        page.locator(".st-key-filter-tenant input").click()
        page.get_by_role("option", name=text).click()
        page.wait_for_function("location.search.includes('tenant=')")
        page.keyboard.press("Escape")
        settle(page)
        for chart in page.get_by_test_id("stVegaLiteChart").all():
            chart.hover()
            page.wait_for_timeout(300)

        expect(page.locator(".st-key-finding-message")).to_have_text(text)
        assert page.title() == "Gatewatch"
        assert page.locator('img[src*="192.0.2.1"], img[src="x"], a[href*="192.0.2.1"]').count() == 0
        for name in ("finding-message", "finding", "filters", "freshness"):
            assert page.locator(f".st-key-{name} :is(strong, em, code, script, .katex)").count() == 0
        assert page.get_by_text("**bold** :red[red] $x^2$").count() >= 5
        svg = page.get_by_test_id("stVegaLiteChart").first
        assert svg.locator("a, image, script").count() == 0


def test_an_open_page_follows_what_is_published_and_every_state_has_its_sentence(
    tmp_path: Path, open_page: OpenPage
) -> None:
    launch = prepare(tmp_path)
    with running(launch):
        page = open_page(launch.url + ALL)
        expect(page.get_by_role("heading", name="No data yet")).to_be_visible()

        publish(tmp_path, 1, **NORMAL)
        # Nobody touches the page; it looks for a newer snapshot by itself.
        card = page.get_by_test_id("stMetric").filter(has_text="Open critical findings")
        expect(card.get_by_test_id("stMetricValue")).to_have_text("2", timeout=(WATCH_SECONDS + 30) * 1_000)

        old = about(snapshot=2, published_at=now() - timedelta(days=3))
        publish(tmp_path, 2, **NORMAL | {"findings": [finding(1)], "about": [old]})
        page.reload()
        settle(page)
        expect(card.get_by_test_id("stMetricValue")).to_have_text("1")
        expect(page.get_by_text("Stale: nothing has been published for")).to_be_visible()

        publish(tmp_path, 3).write_bytes(b"\0" * 5_000)
        page.reload()
        settle(page)
        expect(page.get_by_role("heading", name="cannot be read")).to_be_visible()
        expect(card).to_have_count(0)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_its_window(data: Path, server: str, open_page: OpenPage, width: int) -> None:
    # The more evidence, the better the picture.
    ((finding_id,),) = _sql(
        data,
        "SELECT finding_id FROM findings WHERE rule = 'hidden_execution' AND status = 'open' "
        "ORDER BY len(evidence) DESC, event_ts DESC, finding_id LIMIT 1",
    )
    folder = Path(os.environ.get("GATEWATCH_SCREENSHOTS") or data / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    addresses = {"overview": server + ALL, "finding": f"{server}/?period=all&finding={finding_id}"}
    for name, address in addresses.items():
        page = open_page(address, width=width)
        if name == "finding":
            page.get_by_role("link", name="go to it").click()
            expect(page.get_by_role("heading", name="Opened finding")).to_be_in_viewport()
        # The light one last: the picture of the whole page is light.
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(1_000)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
            assert _overflow(page) == 0
        whole = page.get_by_test_id("stMain").evaluate("main => main.scrollHeight")
        page.set_viewport_size({"width": width, "height": whole})
        page.wait_for_timeout(1_000)
        page.screenshot(path=folder / f"{name}-{width}-whole.png")


def _overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    main = page.get_by_test_id("stMain")
    return int(main.evaluate("main => main.scrollWidth - main.clientWidth"))
