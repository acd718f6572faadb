"""The support squad: how a ticket opens, is reviewed, ships and closes, and the runs in which nothing goes wrong."""

from __future__ import annotations

from random import Random
from typing import Any

from sample_data.casts import SQUAD, SQUAD_DIAGNOSIS, SQUAD_SCANNING, SQUAD_SCORING, Tool
from sample_data.scene import Scene
from sample_data.service import HOUR, Later, gap, sayings, sla_state, waiting
from sample_data.story import raw

REVIEWERS = {"quality": "themis", "clearance": "eunomia"}
PASSED_VERDICTS: list[dict[str, Any]] = [
    {
        "rubric_id": "support-deflection-quality",
        "pass": True,
        "dims": {
            "correct-resolution": raw("«solved»"),
            "grounded-in-kb": raw("«grounded»"),
            "no-false-deflection": raw("«deflection»"),
        },
    },
    {"rubric_id": "empathy-tone-required", "pass": True, "dims": {"clarity": raw("«clarity»"), "tone": raw("«tone»")}},
]
QUALITY_SCORES = PASSED_VERDICTS[0]["dims"] | PASSED_VERDICTS[1]["dims"]
"""What the quality review itself says; the record repeats it."""

LONG_RUN = 20
"""From this many events on a run looks nothing up any more, so that none exceeds 40."""


class Squad(Scene):
    """A ticket of the support squad."""

    def __init__(self, name: str, rng: Random, *, compact: bool) -> None:
        super().__init__(SQUAD, name, rng, compact=compact)
        self.closing_path: str | None = None
        self.leaves_record = True
        self.replied = False
        self.later: list[Later] = []

    def open(self, *, write: bool = False) -> None:
        """The ticket arrives, waits, is routed, and the first heads start."""
        self.received = self.clock.now()
        self.emit(
            "xenia.ticket_created",
            pause=0,
            agent="iris",
            phase="tickets",
            severity=self.priority,
            category=self.intent,
            customer_ref="customer:«hex»",
            sla_state="ok",
        )
        if not self.compact:
            self.clock.exactly(waiting(self.priority, self.rng, at_once=self.story.tickets > 1))
        self.route(write=write, pause=4.0, method="model" if self.chance(0.2) else "deterministic")
        self.dispatch("asclepius", caller="iris")
        if write:
            self.dispatch("hermes", caller="asclepius")
        if not self.compact:
            self.research()

    def research(self) -> None:
        """Reads that find what the answer needs, as long as the run is not long already."""
        room = LONG_RUN - len(self.story.steps)
        if room > 0 and self.chance(0.6):
            self.dispatch("metis", caller="asclepius")
        for _ in range(min(room, int(self.rng.random() ** 2 * 9))):
            self.clock.wait(self.pick((3.0, 12.0, 45.0)))
            self.read(self.pick((self.cast.search, self.cast.search, SQUAD_DIAGNOSIS, self.cast.lookup)))

    def decide(self, gate: str, subject: str, decision: str = "passed", **fields: Any) -> str:
        """A gate decides about a subject, by default through its own reviewer; the event id."""
        pause = fields.pop("pause", 25.0)
        body = {"by": self.also_called(REVIEWERS[gate]) if gate in REVIEWERS else "lead:maria"}
        return self.emit(
            "gate.decision", pause=pause, gate=gate, subject=subject, decision=decision, **{**body, **fields}
        )

    def review(self, subject: str, *, digest: str | None = None, duty_lead: bool = True) -> None:
        """Everything that this ticket's reply has to pass, in order."""
        for gate, tool in (("quality", SQUAD_SCORING), ("clearance", SQUAD_SCANNING)):
            if self.chance(0.4):
                self.dispatch(REVIEWERS[gate], caller="hestia")
                self.read(tool)
            scores = QUALITY_SCORES if gate == "quality" and not self.compact else None
            self.decide(gate, subject, digest=digest, scores=scores)
        if self.priority == "P1" and duty_lead:
            self.decide("duty-lead", subject, digest=digest)

    def ship(self, artifact: str, *, digest: str | None = None, **fields: Any) -> str:
        """The reply leaves the house, written and sent by hestia unless ``fields`` says otherwise; the event id."""
        pause = fields.pop("pause", 15.0)
        body = {"by": "hestia", "author": "hestia", "phase": "tickets", "channel": "email"} | fields
        event_id = self.emit("artifact.shipment", pause=pause, artifact_id=artifact, digest=digest, **body)
        if body["phase"] in ("tickets", "escalations") and body.get("customer_facing", True):
            self.responded = self.responded or self.clock.now()
        return event_id

    def reply(self, *, phase: str = "tickets") -> str:
        """A reply that passes its gates and ships; the artifact id."""
        artifact = self.new("reply")
        self.review(artifact, digest=self.digest(artifact))
        self.ship(artifact, digest=self.digest(artifact), phase=phase)
        self.replied = True
        return artifact

    def authorise(self, tool: Tool, call_id: str, input_digest: str | None) -> None:
        """The squad's gates look at replies, not at calls: a mutation needs nothing but its approval."""

    def path(self, phase: str = "tickets") -> str:
        """The file of this ticket's reply; the closing line then is the shipment of it."""
        self.closing_path = f"hearth/output/{phase}/{self.correlation}.md"
        return self.closing_path

    def stamp(self, terminal: str = "RESOLVED", *, pause: float = 10.0) -> str:
        """The line that the output hook writes when the closing file is there; the event id."""
        handed_over = terminal == "ESCALATED_TO_HUMAN"
        kinds = {"RESOLVED": "xenia.ticket_resolved", "ESCALATED_TO_HUMAN": "xenia.escalated"}
        outcome = "delight" if self.chance(0.2) else "resolved"
        self.clock.wait(pause)
        if self.closing_path:
            self.responded = self.responded or self.clock.now()
        return self.emit(
            kinds.get(terminal, "xenia.output_written"),
            pause=0,
            agent="hestia",
            phase="escalations" if handed_over else "tickets",
            severity=self.priority,
            category=self.intent,
            customer_ref="customer:«hex»",
            outcome=outcome if terminal == "RESOLVED" else None,
            path=self.closing_path,
            sla_state=sla_state(self.priority, self.received, self.responded or self.clock.now()) or "n/a",
        )

    def file_gap(self) -> None:
        """The answer was not in the knowledge base, which is noted, and often mended some days later."""
        path = f"hearth/output/kb-gaps/{self.new('gap')}.md"
        self.emit("xenia.output_written", **gap("metis", path))
        if self.chance(0.6):
            hours = 24 + self.rng.random() * 96
            self.later.append(Later(hours * HOUR, "xenia.output_written", gap("metis", path, closed=True)))

    def close(self, terminal: str = "RESOLVED", **record: Any) -> str | None:
        """The closing line, the record, and now and then what the customer or a person thought of it.

        The record of a ticket whose reply passed its gates mostly tells of the scores too.
        """
        self.stamp(terminal)
        if not self.leaves_record:
            return None
        if self.replied and self.chance(0.75):
            record = {"rubric_verdicts": PASSED_VERDICTS, "clearance": "cleared"} | record
        decision = self.record(terminal, **record)
        if not self.compact and not self.silent:
            self.later += sayings(terminal, self.rng)
        passed = 0.0
        for seconds, kind, fields in sorted(self.later, key=lambda item: item.seconds):
            self.clock.exactly(seconds - passed)
            self.emit(kind, pause=0, **fields)
            passed = seconds
        self.later = []
        return decision

    def come_back(self, decision: str | None) -> None:
        """Within the week the customer writes about the same thing again: another ticket, told to its end."""
        first = self.correlation
        self.clock.exactly(24 * HOUR + self.rng.random() * 96 * HOUR)
        self.story.tickets += 1
        self.correlation, self.run_id = f"{first}-{self.story.tickets}", f"{self.run_id}-{self.story.tickets}"
        self.agents, self.claims, self.noted = [], [], []
        self.responded, self.silent = None, False
        self.open()
        self.reply()
        self.close(follow_up_of=self.pick((decision, first)))


def answered(scene: Squad) -> None:
    """An ordinary ticket: looked up, answered, reviewed, shipped; sometimes with a P1 lead or an internal note."""
    scene.priority = scene.pick(("P1", "P2", "P3", "P3", "P3", "P4"))
    scene.open()
    if scene.chance(0.2):
        scene.ship(scene.new("memo"), phase="voc", digest=scene.digest("memo"))
    if scene.chance(0.2):
        scene.ship(scene.new("fragment"), customer_facing=False)
    scene.reply()
    if scene.chance(0.05):
        scene.file_gap()
    # Nothing more is said about a ticket whose customer comes back: the follow-up itself says it.
    scene.silent = scene.chance(0.07) and not scene.later
    decision = scene.close(judge_cycles=1)
    if scene.silent:
        scene.come_back(decision)


def acted(scene: Squad) -> None:
    """A ticket with one to three mutations, each approved where it must be, each claimed under some key."""
    scene.open(write=True)
    cast = scene.cast
    options = [cast.edit, cast.hard, cast.soft, cast.guarded]
    for tool in options[: 1 + int(scene.rng.random() * 3)]:
        link = scene.pick(("approval_id", "proposal_id", "target", "action"))
        deed = scene.act(tool, link=link)  # type: ignore[arg-type]
        keys = ("call_id", "idempotency_key", "target", "action")
        by = scene.pick((*keys, "receipt_id") if deed.receipt_id else keys)
        scene.claim(deed, by=by)  # type: ignore[arg-type]
        if scene.chance(0.3):
            scene.research()
    scene.reply()
    scene.leaves_record = not scene.chance(0.1)
    scene.close()


def handed_over(scene: Squad) -> None:
    """A ticket that ends with a person, with or without a reply to the customer before."""
    scene.open()
    if not scene.chance(0.4):
        scene.reply(phase="escalations")
    scene.close("ESCALATED_TO_HUMAN")


def left_open(scene: Squad) -> None:
    """No answer could be grounded, or a follow-up ticket takes over; an honest reply ships."""
    scene.open()
    terminal = scene.pick(("FOLLOW_UP_TICKET", "NO_ANSWER_SAFE_FALLBACK"))
    scene.reply()
    if terminal == "NO_ANSWER_SAFE_FALLBACK" and scene.chance(0.7):
        scene.file_gap()
    scene.close(terminal)


def stamped(scene: Squad) -> None:
    """The closing line itself is the shipment of the reply's file."""
    scene.open()
    scene.review(scene.path())
    scene.close()


CLEAN = (answered, answered, answered, acted, acted, handed_over, left_open, stamped)
