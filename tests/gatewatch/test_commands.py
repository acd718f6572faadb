"""The commands around the pipeline: contract, policy, sample data, demo, settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.events import KINDS
from schemas.export import avro_schema, json_schema, markdown
from tests.gatewatch.terminal import gatewatch


def test_the_contract_is_exported_in_three_forms() -> None:
    """Exactly what the schemas say, and JSON Schema unless asked otherwise."""
    assert gatewatch("schema", "export").json == json_schema()
    assert gatewatch("schema", "export", "--format", "avro").json == avro_schema()
    assert gatewatch("schema", "export", "--format", "markdown").out == markdown()
    assert len(json_schema()["oneOf"]) == len(KINDS)


@pytest.mark.parametrize("name", ["support-squad", "workbench"])
def test_a_shipped_policy_is_valid_by_name(name: str) -> None:
    """With what it holds and its digest."""
    result = gatewatch("policy", "validate", name)
    assert result.code == 0
    assert result.out.startswith(f"{name} version 1 is valid: ")
    assert "sha256:" in result.out


def test_a_policy_is_shown_with_where_it_comes_from() -> None:
    """Before anything was chosen it is the default, and says so."""
    shown = gatewatch("policy", "show", "--json").json
    assert shown["policy"]["name"] == "support-squad"
    assert "none was chosen" in shown["origin"]
    assert "quality → clearance" in gatewatch("policy", "show").out


def test_generate_writes_events_truth_and_accounting_and_the_same_again(tmp_path: Path) -> None:
    """Same seed, same bytes; another seed, others."""
    for folder, seed in (("a", 5), ("b", 5), ("c", 6)):
        result = gatewatch("generate", "--events", 60, "--seed", seed, "--out", tmp_path / folder / "e.jsonl", "--json")
        assert (result.code, result.json["events"]) == (0, 60)
    files = {
        folder: [(tmp_path / folder / name).read_bytes() for name in ("e.jsonl", "truth.jsonl", "summary.json")]
        for folder in "abc"
    }
    assert files["a"] == files["b"] != files["c"]
    assert json.loads(files["a"][2])["accepted"] == 60


def test_generate_into_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """One line, exit 2."""
    (tmp_path / "file").write_text("")
    result = gatewatch("generate", "--events", 10, "--out", tmp_path / "file" / "e.jsonl")
    assert result.code == 2
    assert result.complaint.startswith(f"cannot write {tmp_path / 'file' / 'e.jsonl'}: ")
    assert gatewatch("generate", "--events", 0, "--out", "x.jsonl").code == 2


def test_the_demo_ends_with_findings(tmp_path: Path) -> None:
    """From nothing to a table of broken rules, without a dashboard; a later `check` sees the same."""
    result = gatewatch("--data", tmp_path / "d", "demo", "--no-dashboard", "--events", 600)
    assert result.code == 0
    assert "600 accepted" in result.out
    assert "gate_missing" in result.out
    assert "silent drops" in result.out
    checked = gatewatch("--data", tmp_path / "d", "check", "--json")
    assert checked.code == 1
    assert checked.json["count"] > 30
    assert gatewatch("--data", tmp_path / "d", "demo", "--no-dashboard", "--events", 600).code == 0


def test_help_and_version_go_to_stdout() -> None:
    """With every command and exit 0."""
    result = gatewatch("--help")
    assert result.code == 0
    for command in (
        "demo",
        "ingest",
        "check",
        "findings",
        "explain",
        "kpi",
        "quarantine",
        "verify",
        "rebuild",
        "policy",
    ):
        assert command in result.out
    assert gatewatch("--version").out.startswith("gatewatch, version ")
    assert gatewatch("-h").out == result.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('dta = "x"\n', 'gatewatch.toml: knows no key "dta"; did you mean "data"?'),
        ('polcy = "x"\n', 'gatewatch.toml: knows no key "polcy"; did you mean "policy"?'),
        ('zzz = "x"\n', 'gatewatch.toml: knows no key "zzz"; known keys: data, policy'),
        ("data = 3\n", "gatewatch.toml: data: must be text in quotes"),
        ("policy = true\n", "gatewatch.toml: policy: must be text in quotes"),
        ("data =\n", "gatewatch.toml: not valid TOML: "),
        ('policy = "support-sqad"\n', "policy support-sqad: no such file, and no shipped policy of that name; did you"),
    ],
)
def test_a_configuration_with_a_mistake_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    """File, key and the right spelling; `gatewatch.toml` in the current folder is read without being named."""
    (tmp_path / "gatewatch.toml").write_text(text)
    result = gatewatch("policy", "show")
    assert result.code == 2
    assert said in result.complaint


def test_a_policy_with_a_byte_order_mark(tmp_path: Path) -> None:
    """Some editors put one before the text; it is not part of it."""
    (tmp_path / "p.toml").write_text('name = "p"\nversion = 1\n', encoding="utf-8-sig")
    result = gatewatch("policy", "validate", "p.toml")
    assert result.code == 0, result.err
    assert result.out.startswith("p version 1 is valid")


def test_a_configuration_that_is_not_there() -> None:
    """Only when it was asked for."""
    result = gatewatch("--config", "other.toml", "policy", "show")
    assert result.code == 2
    assert result.complaint.startswith("configuration other.toml: no such file")


def test_the_option_goes_before_the_environment_and_that_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the data directory is: the message that nothing is there yet names it. A file's paths are its own."""

    def place(*options: str) -> str:
        return gatewatch(*options, "check").complaint.split(" holds no snapshot")[0]

    assert place() == "gatewatch-data"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "g.toml").write_text('data = "from-file"\npolicy = "workbench"\n')
    assert place("--config", "etc/g.toml") == "etc/from-file"
    monkeypatch.setenv("GATEWATCH_DATA", "from-env")
    assert place("--config", "etc/g.toml") == "from-env"
    assert place("--config", "etc/g.toml", "--data", "from-option") == "from-option"
    shown = gatewatch("--config", "etc/g.toml", "policy", "show", "--json").json
    assert shown["policy"]["name"] == "workbench"
    monkeypatch.setenv("GATEWATCH_POLICY", "support-squad")
    assert gatewatch("--config", "etc/g.toml", "policy", "show", "--json").json["policy"]["name"] == "support-squad"
    monkeypatch.setenv("GATEWATCH_POLICY", "support-sqad")
    assert "did you mean" in gatewatch("policy", "show").complaint
