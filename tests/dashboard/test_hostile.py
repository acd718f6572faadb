"""What agents and customers wrote reaches the page as text only, wherever it turns up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.pages import open_app
from tests.dashboard.snapshots import NORMAL, about, event, finding, publish, rates

HOSTILE = (
    "<script>window.owned=1</script>",
    "<img src=x onerror='window.owned=1'>",
    "![pixel](http://192.0.2.1/pixel.png)",
    "**bold** :red[red] $x^2$ `code`",
    "[click](javascript:window.owned=1)",
    "=HYPERLINK('http://192.0.2.1','x')",
    "{{constructor.constructor('window.owned=1')()}}",
)


def _hostile(text: str) -> dict[str, list[dict[str, Any]]]:
    return NORMAL | {
        "about": [about(policy=text)],
        "outcome_rates": rates(text, 1, 3, 1),
        "findings": [
            finding(
                1,
                rule=text,
                severity="high",
                subject=text,
                tenant=text,
                caller=text,
                tool=text,
                gate=text,
                message=text,
            )
            | {"correlation_id": text, "evidence": ["h1"]}
        ],
        "events": [
            event("h1", "tool.invocation", 1, text, caller=text, tool=text, outcome="failed", note=text, target=text)
            | {"tenant": text},
            event("h2", "gate.decision", 2, text, by=text, gate=text, decision="passed", subject=text, reason=text)
            | {"tenant": text},
            event("h3", text, 3, text) | {"tenant": text},
        ],
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_only_ever_goes_where_text_stays_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    publish(tmp_path, **_hostile(text))

    app = open_app(monkeypatch, tmp_path, finding="f1", severity=text)
    app = open_app(monkeypatch, tmp_path, finding="f1")

    assert any(text in shown.value for shown in app.text)
    assert text in list(app.dataframe[0].value["message"])
    # Whatever renders Markdown or HTML, or is a label that may.
    rendered = [
        *(
            element.value
            for kind in (app.title, app.header, app.subheader, app.caption, app.markdown, app.html)
            for element in kind
        ),
        *(element.value for kind in (app.info, app.warning, app.error, app.success) for element in kind),
        *(value for metric in app.metric for value in (metric.label, metric.value, metric.help)),
        *(element.label for kind in (app.expander, app.button, app.multiselect) for element in kind),
    ]
    assert rendered
    assert not [value for value in rendered if text in value]
