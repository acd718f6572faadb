"""Small snapshots with values worked out by hand, written straight into DuckDB: these tests need no pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from schemas.columns import create_table
from transforms.catalogue import rules

DAY = datetime(2026, 3, 2)  # noqa: DTZ001 - naive UTC, as the database has it

TABLES = {
    "about": (
        '"snapshot" BIGINT, "published_at" TIMESTAMP, "first_event_ts" TIMESTAMP, "last_event_ts" TIMESTAMP, '
        '"last_received_at" TIMESTAMP, "lag_seconds" DOUBLE, "events" BIGINT, "quarantined" BIGINT, '
        '"policy" VARCHAR, "policy_version" BIGINT, "policy_digest" VARCHAR, "schema_version" BIGINT, '
        '"software_version" VARCHAR, "ledger_bytes" BIGINT, "ledger_chunks" BIGINT, "ledger_root" VARCHAR'
    ),
    "batches": (
        '"batch_id" BIGINT, "source" VARCHAR, "dialect" VARCHAR, "first_seq" BIGINT, "lines" BIGINT, "accepted" '
        'BIGINT, "duplicate" BIGINT, "quarantined" BIGINT, "blank" BIGINT, "warnings" BIGINT, "drift" BIGINT, '
        '"redacted" BIGINT, "received_at" TIMESTAMP, "final" BOOLEAN, "segment" BIGINT, "segment_offset" BIGINT, '
        '"bytes" BIGINT, "leaf_hash" VARCHAR'
    ),
    "claims": (
        '"correlation_id" VARCHAR, "decision_id" VARCHAR, "position" BIGINT, "action" VARCHAR, "executed" '
        'BOOLEAN, "claimed_by" VARCHAR, "target" VARCHAR, "receipt_id" VARCHAR, "idempotency_key" VARCHAR, '
        '"call_id" VARCHAR, "amount" DOUBLE, "claim_event_id" VARCHAR, "claimed_ts" TIMESTAMP, "run_id" VARCHAR, '
        '"tenant" VARCHAR'
    ),
    "clock": ('"watermark_us" BIGINT, "as_of_us" BIGINT'),
    "evidence": (
        '"effect_id" VARCHAR, "correlation_id" VARCHAR, "action" VARCHAR, "tool" VARCHAR, "caller" VARCHAR, '
        '"target" VARCHAR, "effect_ts" TIMESTAMP, "attempt_event_id" VARCHAR, "receipt_event_id" VARCHAR, '
        '"complete" BOOLEAN, "verified" BOOLEAN, "duplicate" BOOLEAN, "receipt_id" VARCHAR, "idempotency_key" '
        'VARCHAR, "call_id" VARCHAR, "amount" DOUBLE, "approval_id" VARCHAR, "run_id" VARCHAR, "tenant" VARCHAR'
    ),
    "finding_history": (
        '"finding_id" VARCHAR, "at" TIMESTAMP, "change" VARCHAR, "reason" VARCHAR, "rule" VARCHAR, "severity" '
        'VARCHAR, "subject" VARCHAR, "correlation_id" VARCHAR, "tenant" VARCHAR, "message" VARCHAR'
    ),
    "findings": (
        '"finding_id" VARCHAR, "rule" VARCHAR, "severity" VARCHAR, "status" VARCHAR, "subject" VARCHAR, '
        '"correlation_id" VARCHAR, "run_id" VARCHAR, "tenant" VARCHAR, "caller" VARCHAR, "tool" VARCHAR, "gate" '
        'VARCHAR, "event_ts" TIMESTAMP, "message" VARCHAR, "evidence" VARCHAR[], "policy_digest" VARCHAR'
    ),
    "gaps": (
        '"source" VARCHAR, "seq" BIGINT, "received_at" TIMESTAMP, "from_position" VARCHAR, "to_position" VARCHAR, '
        '"why" VARCHAR'
    ),
    "gate_checks": (
        '"correlation_id" VARCHAR, "subject" VARCHAR, "shipped_event_id" VARCHAR, "shipped_ts" TIMESTAMP, '
        '"pipeline" VARCHAR, "gate" VARCHAR, "position" BIGINT, "status" VARCHAR, "decided_by" VARCHAR, '
        '"decided_ts" TIMESTAMP, "decision_event_id" VARCHAR, "cause_event_id" VARCHAR, "silent" BOOLEAN, '
        '"tenant" VARCHAR, "run_id" VARCHAR, "caller" VARCHAR, "tool" VARCHAR, "verdict" VARCHAR, "stand_in" '
        'BOOLEAN, "within_skew" BOOLEAN'
    ),
    "kpi_facts": (
        '"day" DATE, "tenant" VARCHAR, "correlation_id" VARCHAR, "intent" VARCHAR, "priority" VARCHAR, "tier" '
        'VARCHAR, "gate" VARCHAR, "kpi" VARCHAR, "numerator" DECIMAL(28,9), "denominator" BIGINT, "eligible" '
        'BIGINT, "covered" BIGINT, "counted" BOOLEAN, "minutes" DOUBLE'
    ),
    "kpis": (
        '"period_start" TIMESTAMP, "period_end" TIMESTAMP, "segment" VARCHAR, "kpi" VARCHAR, "value" DOUBLE, '
        '"numerator" DOUBLE, "denominator" DOUBLE, "ci_low" DOUBLE, "ci_high" DOUBLE, "coverage" DOUBLE, "note" '
        'VARCHAR, "definition" VARCHAR, "covered" BIGINT, "eligible" BIGINT'
    ),
    "outcome_rates": (
        '"hour" TIMESTAMP, "tool" VARCHAR, "caller" VARCHAR, "level" VARCHAR, "outcome" VARCHAR, "n" BIGINT, '
        '"total" BIGINT, "rate" DOUBLE, "ci_low" DOUBLE, "ci_high" DOUBLE, "tenant" VARCHAR'
    ),
    "quarantine": (
        '"quarantine_id" VARCHAR, "seq" BIGINT, "source" VARCHAR, "position" VARCHAR, "received_at" TIMESTAMP, '
        '"reason" VARCHAR, "errors" VARCHAR, "line" VARCHAR, "line_sha256" VARCHAR, "event_id" VARCHAR, '
        '"redacted" BOOLEAN'
    ),
    "reconciliation": (
        '"correlation_id" VARCHAR, "action" VARCHAR, "target" VARCHAR, "claimed" BOOLEAN, "evidenced" BOOLEAN, '
        '"status" VARCHAR, "match_key" VARCHAR, "claim_event_id" VARCHAR, "evidence_event_ids" VARCHAR[], '
        '"amount_claimed" DOUBLE, "amount_evidenced" DOUBLE, "age_seconds" BIGINT, "tenant" VARCHAR, "run_id" '
        'VARCHAR, "subject" VARCHAR, "decision_id" VARCHAR, "position" BIGINT, "tool" VARCHAR, "caller" VARCHAR, '
        '"event_ts" TIMESTAMP, "verdict" VARCHAR'
    ),
    "retries": ('"quarantine_id" VARCHAR, "seq" BIGINT, "received_at" TIMESTAMP, "dialect" VARCHAR, "outcome" VARCHAR'),
    "retry_degrade": (
        '"hour" TIMESTAMP, "tool" VARCHAR, "caller" VARCHAR, "error_class" VARCHAR, "calls" BIGINT, "attempts" '
        'BIGINT, "retries" BIGINT, "recovered" BIGINT, "degraded" BIGINT, "degraded_noted" BIGINT, "escalated" '
        'BIGINT, "violations" BIGINT, "tenant" VARCHAR, "duplicate_effects" BIGINT'
    ),
    "rule_texts": (
        '"rule" VARCHAR, "family" VARCHAR, "severity" VARCHAR, "means" VARCHAR, "action" VARCHAR, "satisfied_by" '
        "VARCHAR"
    ),
    "runs": (
        '"correlation_id" VARCHAR, "run_id" VARCHAR, "tenant" VARCHAR, "decision_id" VARCHAR, "intent" VARCHAR, '
        '"priority" VARCHAR, "terminal_state" VARCHAR, "received_at" TIMESTAMP, "first_response_at" TIMESTAMP, '
        '"terminal_at" TIMESTAMP, "dispatches" BIGINT, "judge_cycles" BIGINT, "rubric_score" DOUBLE, "cost_usd" '
        'DOUBLE, "model_tier" VARCHAR, "findings_open" BIGINT, "first_ts" TIMESTAMP, "escalated" BOOLEAN, '
        '"sla_state" VARCHAR, "record_event_id" VARCHAR'
    ),
    "sources": (
        '"source" VARCHAR, "kind" VARCHAR, "path" VARCHAR, "dialect" VARCHAR, "lines" BIGINT, "accepted" BIGINT, '
        '"duplicate" BIGINT, "quarantined" BIGINT, "blank" BIGINT, "warnings" BIGINT, "drift" BIGINT, "redacted" '
        'BIGINT, "max_ts" TIMESTAMP, "floor_ts" TIMESTAMP, "complete" BOOLEAN, "first_received_at" TIMESTAMP, '
        '"last_received_at" TIMESTAMP'
    ),
    "tool_calls": (
        '"correlation_id" VARCHAR, "run_id" VARCHAR, "call_id" VARCHAR, "caller" VARCHAR, "tool" VARCHAR, '
        '"privilege" VARCHAR, "side_effects" VARCHAR, "layer" VARCHAR, "first_ts" TIMESTAMP, "last_ts" TIMESTAMP, '
        '"attempts" BIGINT, "retries" BIGINT, "outcome" VARCHAR, "error_class" VARCHAR, "last_error_class" '
        'VARCHAR, "recovered" BOOLEAN, "degraded" BOOLEAN, "degraded_noted" BOOLEAN, "noted" BOOLEAN, "escalated" '
        'BOOLEAN, "duration_ms" DOUBLE, "cost_usd" DOUBLE, "last_event_id" VARCHAR, "tenant" VARCHAR'
    ),
    "verifications": ('"verified_at" TIMESTAMP, "ok" BOOLEAN, "problems" VARCHAR[]'),
}
"""The public tables beside `events`, as they are published; a test compares them with a real snapshot."""

Row = Mapping[str, Any]


def at(hours: float) -> datetime:
    """So many hours after the start of the tests' day."""
    return DAY + timedelta(hours=hours)


def now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def finding(number: int, **changes: Any) -> dict[str, Any]:
    """One open finding, `f<number>`, an hour later than the one before."""
    return {
        "finding_id": f"f{number}",
        "rule": "gate_missing",
        "severity": "critical",
        "status": "open",
        "subject": f"reply-{number}",
        "correlation_id": f"TICKET-{number}",
        "tenant": "acme",
        "gate": "quality",
        "event_ts": at(number),
        "message": f"reply-{number} went out without any decision of the gate quality.",
        "evidence": [f"e{number}-ship"],
        **changes,
    }


def event(event_id: str, kind: str, hours: float, correlation_id: str = "TICKET-1", **fields: Any) -> dict[str, Any]:
    """One event of tenant acme."""
    return {
        "event_id": event_id,
        "kind": kind,
        "ts": at(hours),
        "correlation_id": correlation_id,
        "tenant": "acme",
        **fields,
    }


def about(**changes: Any) -> dict[str, Any]:
    """Published a minute ago, 10 minutes after the last event, as snapshot 7."""
    published = now() - timedelta(minutes=1)
    return {
        "snapshot": 7,
        "published_at": published,
        "first_event_ts": published - timedelta(days=300),
        "last_event_ts": published - timedelta(minutes=10),
        "last_received_at": published,
        "events": 6,
        "quarantined": 3,
        "policy": "support-squad",
        "policy_version": 2,
        **changes,
    }


def publish(data: Path, number: int = 7, **tables: Sequence[Row]) -> Path:
    """Write one snapshot and point the link at it, as the writer does. Tables not named are there and empty."""
    folder = data / "published"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"gatewatch-{number}.duckdb"
    file = folder / f".draft-{number}.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute(create_table("events"))
        for name, columns in TABLES.items():
            con.execute(f"CREATE TABLE {name} ({columns})")
        for name, rows in {"about": [about()], **tables}.items():
            for row in rows:
                names = ", ".join(f'"{column}"' for column in row)
                places = ", ".join("?" for _ in row)
                con.execute(f"INSERT INTO {name} ({names}) VALUES ({places})", list(row.values()))
    file.rename(target)
    draft = data / ".link"
    draft.symlink_to(Path("published") / target.name)
    draft.replace(data / "gatewatch.duckdb")
    return target


def checks(status: str, silent: bool, times: int, start: int) -> list[dict[str, Any]]:
    """`times` gate checks, two gates to a shipment, on the shipments from number `start` on."""
    return [
        {
            "shipped_event_id": f"s{start + nth // 2}",
            "shipped_ts": at(1),
            "gate": ("quality", "clearance")[nth % 2],
            "status": status,
            "silent": silent,
        }
        for nth in range(times)
    ]


def rates(tool: str, hours: float, success: int, failed: int, level: str = "call") -> list[dict[str, Any]]:
    """The rows of one tool and hour."""
    total = success + failed
    return [
        {"hour": at(hours), "tool": tool, "level": level, "outcome": outcome, "n": n, "total": total}
        for outcome, n in (("success", success), ("failed", failed))
        if n
    ]


NORMAL: dict[str, list[dict[str, Any]]] = {
    # 7 settled checks on 5 shipments (s1, s2, s3, s4, s5), 1 of them silent; 1 more is pending.
    "gate_checks": [
        *checks("passed", False, 5, 1),
        *checks("gate_missing", True, 1, 4),
        *checks("gate_blocked_shipped", False, 1, 5),
        *checks("pending", False, 1, 6),
    ],
    # 6 flags that could be checked, 3 of them broken; 1 cannot be checked, 1 is pending, 2 rows are no flags.
    "reconciliation": [
        {"claimed": claimed, "status": status, "event_ts": at(1)}
        for claimed, status in (
            (True, "matched"),
            (False, "matched"),
            (True, "phantom_execution"),
            (False, "hidden_execution"),
            (True, "partial_as_executed"),
            (True, "conflicting_claims"),
            (False, "unverifiable"),
            (True, "pending"),
            (None, "unclaimed_execution"),
            (None, "key_conflict"),
        )
    ],
    # 11 of 14 calls succeeded; the attempts must not be counted.
    "outcome_rates": [
        *rates("kb_search", 1, 5, 1),
        *rates("kb_search", 2, 3, 1),
        *rates("issue_refund", 1, 3, 0),
        *rates("pii_scan", 1, 0, 1),
        *rates("kb_search", 1, 9, 9, level="attempt"),
    ],
    "findings": [
        finding(1, evidence=["e1-ship", "e1-quality"], run_id="run-1"),
        finding(2, severity="high", rule="gate_late", tenant=None),
        finding(3, severity="critical", rule="phantom_execution", gate=None, tool="issue_refund", caller="hermes"),
        finding(4, severity="low", rule="unverifiable", tenant="globex"),
        finding(5, status="pending"),
    ],
    # The ticket of f1: two events are evidence, two are not; the last two are another ticket's and another tenant's.
    "events": [
        event("e1-call", "tool.invocation", 0.5, caller="hestia", tool="kb_search", outcome="success"),
        event("e1-quality", "gate.decision", 0.9, by="Themis", gate="quality", decision="errored", subject="reply-1"),
        event("e1-ship", "artifact.shipment", 1, by="hestia", artifact_id="reply-1"),
        event("e1-closed", "decision.record", 1.1, decision_id="DR-1", terminal_state="RESOLVED"),
        event("e2-ship", "artifact.shipment", 2, "TICKET-2", by="hestia", artifact_id="reply-2"),
        event("e3-ship", "artifact.shipment", 1, by="mallory", artifact_id="reply-9") | {"tenant": "globex"},
    ],
    "rule_texts": [
        {
            "rule": rule.name,
            "family": rule.family,
            "severity": rule.severity,
            "means": rule.means,
            "action": rule.do,
            "satisfied_by": rule.satisfied_by,
        }
        for rule in rules().values()
    ],
    "finding_history": [
        {"finding_id": "f1", "at": at(3), "change": "opened", "reason": "evidence"},
        {"finding_id": "f9", "at": at(3), "change": "opened", "reason": "evidence"},
        {"finding_id": "f9", "at": at(4), "change": "cleared", "reason": "policy"},
    ],
}
"""A snapshot with something of everything."""

EMPTY: dict[str, list[dict[str, Any]]] = {
    "about": [about(events=0, first_event_ts=None, last_event_ts=None, quarantined=0)]
}
"""A snapshot that was published before any event came."""
