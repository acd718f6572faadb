"""Which policy judges (a file, a shipped one, or the one that judged last), and which own rules beside the shipped."""

from __future__ import annotations

import os
from pathlib import Path

from ingest.errors import disk_error
from sample_data import POLICIES, policy_path
from schemas.errors import PolicyError
from schemas.policy import Policy
from schemas.policy_file import check_rule_names, parse_policy, suggestion
from transforms.own_rules import NO_RULES, OwnRules, known_rules

DEFAULT = "support-squad"
"""Judges where nobody chose: the more general of the shipped ones. The command says so when it is used."""


def shipped() -> dict[str, str]:
    """Name → text of the policies that come with Gatewatch."""
    return {name: policy_path(name).read_text(encoding="utf-8") for name in POLICIES}


def own_rules(folder: Path | None) -> OwnRules:
    """The user's own rules, checked; none without a folder. Raises OwnRuleError: one line with file, cause and fix."""
    if folder is None:
        return NO_RULES
    # Imported here since reading SQL takes a parser that takes most of a second to load, and most people have no rules.
    from transforms.rule_folder import load_rules

    return load_rules(folder)


def read_policy(choice: str, own: OwnRules = NO_RULES) -> Policy:
    """The policy of a file, or a shipped one by name. Raises PolicyError: one line with the place and the fix.

    `own` are the user's own rules, whose severities it may change too.
    """
    return _checked(*_text(choice), own)


def _text(choice: str) -> tuple[str, str]:
    """(where it comes from, its text) of a choice."""
    path = Path(choice)
    known = shipped()
    if path.suffix == "" and not path.exists():
        if choice in known:
            return f"shipped policy {choice}", known[choice]
        raise PolicyError(
            f"policy {choice}: no such file, and no shipped policy of that name"
            f"{suggestion(choice, known) or '; shipped are ' + ', '.join(sorted(known))}"
        )
    try:
        return str(path), path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"policy {path}: no such file; name an existing .toml or .yaml file") from None
    except IsADirectoryError:
        raise PolicyError(f"policy {path}: is a directory; name the .toml or .yaml file in it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"policy {path}: cannot be read ({error})") from None


def _checked(name: str, text: str, own: OwnRules) -> Policy:
    policy = parse_policy(text, name=name, yaml_syntax=name.endswith((".yaml", ".yml")))
    check_rule_names(policy, known_rules(own), name=name)
    return policy


def current_policy(data: Path, choice: str | None, own: OwnRules = NO_RULES) -> tuple[Policy, str]:
    """(policy, where it comes from): the choice, else the data directory's own, else the default.

    Raises PolicyError.
    """
    if choice is not None:
        name, text = _text(choice)
        return _checked(name, text, own), name
    kept = data / "policy.toml"
    for path in (kept, kept.with_suffix(".yaml")):
        if path.exists():
            return _checked(*_text(str(path)), own), f"kept in {path}"
    return read_policy(DEFAULT, own), f"shipped policy {DEFAULT}, since none was chosen"


def keep_policy(data: Path, choice: str) -> None:
    """Keep the chosen policy's text in the data directory, so that a rebuild judges by the same one."""
    name, text = _text(choice)
    kept = data / ("policy.yaml" if name.endswith((".yaml", ".yml")) else "policy.toml")
    draft = kept.with_name(f".{kept.name}.draft")
    try:
        with draft.open("w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        draft.replace(kept)
        for other in {"policy.yaml", "policy.toml"} - {kept.name}:
            (data / other).unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(error, kept) from None
