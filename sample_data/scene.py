"""A run while it is being written: the clock, the identities, and one method for each thing that can happen.

`Scene` knows what both scenarios share; `squad.Squad` and `workbench.Workbench` add how a run opens and closes there,
and what must have happened before something irreversible may run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from random import Random
from typing import Any, TypeVar

from sample_data.casts import Cast, Tool
from sample_data.deeds import ApprovalLink, ClaimKey, Deed
from sample_data.service import COST, TIERS, sla_state
from sample_data.story import AMOUNT, Clock, Moment, Step, Story, Truth, digest, to_line, whole

T = TypeVar("T")


class Scene(ABC):
    """Writes one story. ``compact`` leaves out what only makes a run longer.

    Before a run opens, ``command`` may name another command that starts it and ``routed`` replace fields of its route
    decision; in a ``silent`` one nobody says anything after its end.
    """

    def __init__(self, cast: Cast, name: str, rng: Random, *, compact: bool) -> None:
        self.cast, self.rng, self.compact = cast, rng, compact
        self.story = Story(name)
        self.clock = Clock()
        self.correlation, self.run_id = f"{cast.prefix}-«run»", "run-«uid»"
        self.received = self.clock.now()
        self.responded: Moment | None = None
        self.claims: list[dict[str, Any]] = []
        self.noted: list[dict[str, Any]] = []
        self.intent = self.pick(cast.intents)
        self.priority = self.pick(("P2", "P3", "P3", "P4"))
        self.agents: list[str] = []
        self.command = cast.command
        self.routed: dict[str, Any] = {}
        self.silent = False
        self._counts: Counter[str] = Counter()

    # -- plumbing ---------------------------------------------------------------------------------------------------

    def pick(self, options: tuple[T, ...]) -> T:
        """One of the options; only ``Random.random`` is used, whose sequence Python guarantees."""
        return options[int(self.rng.random() * len(options))]

    def chance(self, share: float) -> bool:
        """True with this probability, and never in a compact story."""
        return self.rng.random() < share and not self.compact

    def new(self, label: str) -> str:
        """A fresh identity that is unique within the run's tenant."""
        self._counts[label] += 1
        return f"{label}-«run»-{self._counts[label]}"

    def digest(self, label: str) -> str:
        """A digest that is this run's own."""
        return digest(label)

    def emit(self, kind: str, *, pause: float = 4.0, **fields: Any) -> str:
        """Add one event ``pause`` seconds (at the run's pace) after the previous one; its event id."""
        self.clock.wait(pause)
        event_id = f"ev-«uid»-{len(self.story.steps):02d}"
        head: dict[str, Any] = {"event_id": event_id, "ts": self.clock.at(), "kind": kind}
        if kind.startswith("xenia."):
            head["ticket_id"] = self.correlation
        else:
            head |= {"correlation_id": self.correlation, "run_id": self.run_id}
        self.story.steps.append(Step(self.clock.slow, self.clock.fixed, to_line(head | fields)))
        return event_id

    def expect(self, rule: str, subject: str, *, times: int = 1) -> None:
        """State that this run implies a finding (``times`` of them with equal subject)."""
        self.story.truth.extend([Truth(rule, subject, self.correlation)] * times)

    def also_called(self, agent: str) -> str:
        """The agent under one of its names, in one of the spellings that occur."""
        alias = self.cast.aliases.get(agent, agent)
        return self.pick((agent, agent, alias, agent.title(), alias.title()))

    # -- what the scenarios differ in -------------------------------------------------------------------------------

    @abstractmethod
    def open(self, *, write: bool = False) -> None:
        """The run begins; ``write`` says whether its request needs a tool that changes something."""

    @abstractmethod
    def close(self, terminal: str = "RESOLVED", **record: Any) -> str | None:
        """The run ends with its record (members in ``record``); its decision id."""

    @abstractmethod
    def decide(self, gate: str, subject: str, decision: str = "passed", **fields: Any) -> str:
        """A gate decides about a subject, by default through its own reviewer; the event id."""

    @abstractmethod
    def authorise(self, tool: Tool, call_id: str, input_digest: str | None) -> None:
        """What the scenario's gates want before a call has an effect."""

    # -- things that happen -----------------------------------------------------------------------------------------

    def route(self, *, write: bool, pause: float, method: str) -> str:
        """The request gets its tools, those that change something only if it needs to ``write``; the event id."""
        body: dict[str, Any] = {
            "task_family": self.intent,
            "granted_tools": [*self.cast.reads, *(self.cast.changes if write else ())],
            "method": method,
            "needed_privilege": "write" if write else "read",
        }
        self.route_event = self.emit("route.decision", pause=pause, **{**body, **self.routed})
        return self.route_event

    def dispatch(self, agent: str, *, caller: str) -> None:
        """An agent is started."""
        self.agents.append(agent)
        self.emit("agent.dispatch", command=self.command, caller=caller, agent=self.also_called(agent))

    def attempt(self, tool: Tool, outcome: str = "success", *, call: str, number: int = 1, **fields: Any) -> str:
        """One attempt of a call; a read takes its own digest, a failed one no cost."""
        usage = {} if self.compact else {"trace_id": "«hex»«hex»", "duration_ms": whole(35, 4200)}
        if self.chance(0.25) and "caller" not in fields:
            usage["model_tier"] = self.cast.tiers[tool.caller]
        body: dict[str, Any] = {
            "caller": tool.caller,
            "tool": tool.name,
            "privilege": tool.privilege,
            "side_effects": tool.side_effects,
            "outcome": outcome,
            "call_id": call,
            "attempt": number if number > 1 or not self.compact else None,
            "input_digest": self.digest(f"{tool.name}:{call}"),
            "undo": tool.undo,
        }
        return self.emit("tool.invocation", **{**body, **usage, **fields})

    def read(self, tool: Tool | None = None) -> None:
        """A read that works at once."""
        self.attempt(tool or self.cast.search, call=self.new("call"))

    def degrade(self, tool: Tool, call: str | None, *, noted: bool = True, by_tool: bool = False) -> None:
        """A call takes its fallback; the record will say so if ``noted`` (naming the tool or else the call)."""
        self.emit(
            "tool.degradation", caller=tool.caller, tool=tool.name, fallback=tool.fallback, call_id=call, pause=1.0
        )
        if noted:
            self.note(tool, None if by_tool else call)

    def note(self, tool: Tool, call: str | None) -> None:
        """The record will admit a degradation: of the call, or of the tool when ``call`` is None."""
        named = {"call_id": call} if call else {"tool": tool.name}
        self.noted.append(named | {"note": f"{tool.name} gave up, took {tool.fallback}"})

    def approve(self, tool: Tool, target: str | None, *, decision: str = "approved", **fields: Any) -> str:
        """A person answers; by default for this action and target, without proposal; the approval id."""
        approval = str(fields.pop("approval_id", None) or self.new("appr"))
        body: dict[str, Any] = {
            "approval_id": approval,
            "decision": decision,
            "by": self.cast.approver,
            "by_kind": "human",
            "action": tool.action,
            "target": target,
        }
        self.emit("action.decision", pause=40.0, **{**body, **fields})
        return approval

    def receipt(self, tool: Tool, effect: str = "committed", *, receipt_id: str | None = None, **fields: Any) -> str:
        """The system of record speaks; the event id."""
        return self.emit(
            "action.receipt",
            pause=2.0,
            receipt_id=receipt_id or self.new("rcpt"),
            action=tool.action,
            effect=effect,
            system=None if self.compact else "ledger-api",
            **fields,
        )

    def act(
        self,
        tool: Tool,
        *,
        approved: bool = True,
        link: ApprovalLink = "approval_id",
        target: str | None = None,
        receipt: bool | None = None,
        outcome: str = "success",
        **attempt: Any,
    ) -> Deed:
        """A mutation done the right way: approved if it needs it, authorised, executed, receipted if its contract asks.

        ``attempt`` adds or replaces fields of the attempt (also ``call``, ``number``); ``receipt`` overrides whether a
        receipt comes.
        """
        target = target or f"{tool.action}:«run»"
        call = str(attempt.pop("call", None) or self.new("call"))
        key = attempt.pop("idempotency_key", None) or self.new("idem")
        amount = attempt.pop("amount", AMOUNT) if tool.takes_amount else None
        given = attempt.pop("input_digest", self.digest(f"{tool.name}:{call}"))
        proposal = None
        if approved and self.needs_approval(tool):
            proposal = self.new("prop") if link == "proposal_id" else None
            limits: dict[str, Any] = {"digest": given, "amount_limit": amount} if link == "approval_id" else {}
            named = None if link == "action" else target
            approval = self.approve(tool, named, proposal_id=proposal, **limits)
            if link == "approval_id":
                attempt.setdefault("approval_id", approval)
        self.authorise(tool, call, given)
        event = self.attempt(
            tool,
            outcome,
            call=call,
            idempotency_key=key,
            target=target,
            amount=amount,
            currency="EUR" if amount else None,
            input_digest=given,
            **attempt,
        )
        comes = (tool.receipt == "required" or proposal is not None) if receipt is None else receipt
        if not comes:
            return Deed(tool, call, key, target, amount, event)
        receipt_id = self.new("rcpt")
        receipt_event = self.receipt(
            tool,
            receipt_id=receipt_id,
            idempotency_key=key,
            call_id=call,
            target=target,
            amount=amount,
            proposal_id=proposal,
        )
        return Deed(tool, call, key, target, amount, event, receipt_id, receipt_event)

    def needs_approval(self, tool: Tool) -> bool:
        """Whether the policy wants a human approval before this tool acts."""
        return tool.side_effects == "irreversible" or tool is self.cast.guarded

    def claim(self, deed: Deed, *, executed: bool = True, by: ClaimKey = "call_id", **fields: Any) -> int:
        """The record will claim the deed, named by one key; the claim's position."""
        keys = {"receipt_id": deed.receipt_id, "idempotency_key": deed.key, "call_id": deed.call_id}
        body: dict[str, Any] = {"action": deed.tool.action, "executed": executed}
        body |= {by: keys[by]} if by in keys else {}
        body |= {} if by == "action" else {"target": deed.target}
        body |= {"amount": deed.amount} if executed and deed.amount else {}
        self.claims.append({**body, **fields})
        return len(self.claims) - 1

    def escalation(self) -> dict[str, Any]:
        """Why a person takes over: mostly a trigger, sometimes only because the customer asked for one."""
        return {"triggered": False} if self.chance(0.08) else {"triggered": True, "trigger": "needs a person"}

    def sla(self) -> dict[str, str]:
        """The record's member of that name; a run without a first response of its own gave it by closing."""
        responded = self.responded or self.clock.now()
        times = {"received_at": self.received.text(), "first_response_at": responded.text()}
        state = sla_state(self.priority, self.received, responded)
        return times | {"state": state} if state else times

    def record(self, terminal: str, *, pause: float = 20.0, decision_id: str | None = None, **fields: Any) -> str:
        """The run's record; ``fields`` replaces members (None leaves one out). Its decision id."""
        decision = decision_id or f"DR-{self.correlation}-1"
        handed_over = terminal == "ESCALATED_TO_HUMAN"
        heads = list(dict.fromkeys(self.agents))
        body: dict[str, Any] = {
            "decision_id": decision,
            "terminal_state": terminal,
            "intent": self.intent,
            "priority": self.priority,
            "actions_attempted": self.claims or None,
            "degradations": self.noted or None,
            "escalation": self.escalation() if handed_over else None,
            "dispatch_count": len(self.agents),
        }
        if not self.compact:
            tier = self.pick(TIERS)
            body |= {
                "heads_dispatched": heads,
                "sla": self.sla(),
                "tokens": {"in": whole(900, 9000), "out": whole(200, 3000)},
                "cost_usd": COST[tier] if self.rng.random() < 0.91 else None,
                "model_tier": tier,
            }
        self.emit("decision.record", pause=pause, **{**body, **fields})
        return decision
