"""The configuration: what it may say, where it comes from, and the one line that names a mistake."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from gatewatch.errors import InputError
from gatewatch.settings import Settings, listen_address, load_settings
from ingest.sources.kafka.settings import KafkaSettings
from ingest.sources.tail.settings import TailSettings
from tests.docs.pages import ROOT
from tests.gatewatch.terminal import gatewatch

FILES = '[[sources]]\ntype = "jsonl"\npaths = ["logs/*.jsonl"]\n'
BROKER = '[kafka]\nbootstrap_servers = ["kafka1:9092"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return Path("etc/g.toml")


def loaded(file: Path, text: str) -> Settings:
    file.write_text(text, encoding="utf-8")
    return load_settings(file)


def test_without_a_file_everything_has_a_default() -> None:
    settings = load_settings(None)
    assert settings.data == Path("gatewatch-data")
    assert settings.run.refresh_interval == timedelta(seconds=1)
    assert settings.run.publish_interval == timedelta(seconds=2)
    assert settings.run.tick_interval == timedelta(seconds=30)
    assert settings.run.verify_interval is None
    assert settings.metrics.listen == "127.0.0.1:9464"
    assert settings.kafka is None
    assert settings.sources == []


def test_the_example_of_the_manual_is_valid_and_every_line_of_it_that_is_commented_out_is_too(file: Path) -> None:
    """People copy it and take the `#` away; a key that does not exist any more would stop them."""
    example = (ROOT / "docs" / "gatewatch.toml").read_text(encoding="utf-8")
    settings = load_settings(ROOT / "docs" / "gatewatch.toml")
    assert [source.type for source in settings.sources] == ["jsonl"]
    everything = re.sub("(?m)^#(?=[^ ])", "", example)  # a comment has a space after its mark
    settings = loaded(file, everything)
    assert [source.type for source in settings.sources] == ["jsonl", "kafka"]
    assert settings.kafka is not None
    for table in (settings, settings.run, settings.metrics, settings.checkpoints, settings.kafka, *settings.sources):
        for key in type(table).model_fields:
            spelt = (f"{key} =", f"[{key}]", f"[[{key}]]")
            # The two ways to give a token rule each other and the password out.
            assert any(word in example for word in spelt) or key.startswith("sasl_oauth"), key


def test_paths_of_the_file_are_relative_to_the_file(file: Path) -> None:
    settings = loaded(
        file,
        'data = "d"\nrules = "r"\npolicy = "p.toml"\n[checkpoints]\nkey = "k"\nfiles = ["/mnt/c", "c"]\n'
        + FILES
        + '[kafka]\nbootstrap_servers = ["b:1"]\nsecurity_protocol = "SSL"\nssl_cafile = "ca.pem"\n',
    )
    assert (settings.data, settings.rules, settings.policy) == (Path("etc/d"), Path("etc/r"), "etc/p.toml")
    assert settings.checkpoints.key == Path("etc/k")
    assert settings.checkpoints.files == [Path("/mnt/c"), Path("etc/c")]
    assert settings.kafka is not None
    assert settings.kafka.ssl_cafile == Path("etc/ca.pem")
    (source,) = settings.sources
    assert isinstance(source, TailSettings)
    assert source.paths == ["etc/logs/*.jsonl"]


def test_the_name_of_a_shipped_policy_is_no_path(file: Path) -> None:
    assert loaded(file, 'policy = "workbench"\n').policy == "workbench"


def test_the_environment_goes_before_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of a table, beside what the file says of the same table; its paths are relative to the current folder."""
    monkeypatch.setenv("GATEWATCH_RUN__REFRESH_INTERVAL", "5s")
    monkeypatch.setenv("GATEWATCH_KAFKA__SSL_CAFILE", "elsewhere/ca.pem")
    monkeypatch.setenv("GATEWATCH_SOURCES", '[{"type": "kafka", "topics": ["t"]}]')
    settings = loaded(
        file,
        '[run]\nrefresh_interval = "3s"\npublish_interval = "4s"\n' + FILES + BROKER + 'security_protocol = "SSL"\n',
    )
    assert settings.run.refresh_interval == timedelta(seconds=5)
    assert settings.run.publish_interval == timedelta(seconds=4)
    assert settings.kafka is not None
    assert settings.kafka.ssl_cafile == Path("elsewhere/ca.pem")
    (source,) = settings.sources
    assert isinstance(source, KafkaSettings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[run]\nrefresh_intervl = "1s"\n', 'knows no key "run.refresh_intervl"; did you mean "refresh_interval"?'),
        ("[run]\nrefresh_interval = 1\n", "run.refresh_interval: must be a duration in quotes, like "),
        ('[run]\nrefresh_interval = "1 s"\n', 'run.refresh_interval: "1 s" is no duration; write '),
        ('[run]\ntick_interval = "1ms"\n', 'run.tick_interval: is too short; write at least "1s"'),
        ('[rnu]\ntick_interval = "1s"\n', 'knows no key "rnu"; did you mean "run"?'),
        ("run = 3\n", "run: must be a table of settings"),
        ('[metrics]\nlisten = "9464"\n', 'metrics.listen: "9464" is no address; write host and port, '),
        ('[metrics]\nallow_remote = 3\n', "metrics.allow_remote: must be true or false"),
        ('[[sources]]\ntype = "kafak"\n', 'sources[0].type: must be one of "jsonl", "kafka"; did you mean "kafka"?'),
        ('[[sources]]\npaths = ["x"]\n', 'sources[0].type: is missing; write one of "jsonl", "kafka"'),
        (
            FILES + '[[sources]]\ntype = "kafka"\ntopcs = ["t"]\n',
            'knows no key "sources[1].topcs"; did you mean "topics"?',
        ),
        (FILES + '[[sources]]\ntype = "kafka"\ntopics = []\n', "sources[1].topics: must not be empty"),
        ('[[sources]]\ntype = "jsonl"\n', "sources[0].paths: is missing"),
        ('[[sources]]\ntype = "jsonl"\npaths = "x"\n', 'sources[0].paths: must be a list, like ["…"]'),
        ('[[sources]]\ntype = "jsonl"\npaths = ["x", 3]\n', "sources[0].paths[1]: must be text in quotes"),
        (FILES + 'dialect = "nativ"\n', 'sources[0].dialect: must be one of "auto", "native", "xenia" or '),
        ('[sources]\ntype = "jsonl"\n', "sources: must be a list of tables; write [[sources]]"),
        ('sources = ["logs"]\n', "sources[0]: must be a table of settings"),
        ('[[sources]]\ntype = "kafka"\ntopics = ["t"]\n', "sources[0] needs Kafka: add a table [kafka] with "),
        ('[checkpoints]\ntopic = "t"\n', "checkpoints.topic needs Kafka: add a table [kafka] with "),
        ('[checkpoints]\nintervall = "1m"\n', 'knows no key "checkpoints.intervall"; did you mean "interval"?'),
        ('[kafka]\nsasl_username = "u"\n', "kafka.bootstrap_servers: is missing"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_file_key_and_fix(text: str, said: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")
    result = gatewatch("--config", file, "run")
    assert result.code == 2
    assert result.complaint.startswith(f"configuration etc/g.toml: {said}"), result.complaint


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("GATEWATCH_RUN__REFRESH_INTERVL", "1s", 'knows no key "GATEWATCH_RUN__REFRESH_INTERVL"; did you mean "refr'),
        ("GATEWATCH_RUN__REFRESH_INTERVAL", "x", 'GATEWATCH_RUN__REFRESH_INTERVAL: "x" is no duration'),
        ("GATEWATCH_RUN_REFRESH_INTERVAL", "1s", "knows no GATEWATCH_RUN_REFRESH_INTERVAL; write GATEWATCH_RUN__REF"),
        ("GATEWATCH_SOURCES", "logs/*.jsonl", 'GATEWATCH_SOURCES: is no JSON; write a list, like [{"type": "jsonl", '),
        ("GATEWATCH_RUN", "hunter2", 'GATEWATCH_RUN: is no JSON; write a table, like {"refresh_interval": …}, or '),
        ("GATEWATCH_POLCY", "x", "knows no GATEWATCH_POLCY; did you mean GATEWATCH_POLICY?"),
        ("gatewatch_polcy", "x", "knows no gatewatch_polcy; did you mean GATEWATCH_POLICY?"),
        ("GATEWATCH_METRIC__LISTEN", "x", "knows no GATEWATCH_METRIC__LISTEN; did you mean GATEWATCH_METRICS__LISTEN?"),
        ("GATEWATCH_DATA__DIR", "x", "knows no GATEWATCH_DATA__DIR"),
        ("GATEWATCH_XYZZY", "1", "knows no GATEWATCH_XYZZY; known variables: GATEWATCH_DATA, GATEWATCH_POLICY, "),
        ("GATEWATCH_DATA", "", "GATEWATCH_DATA: must not be empty; leave it out for the default"),
        ("GATEWATCH_RULES", "", "GATEWATCH_RULES: must not be empty; leave it out for the default"),
        ("GATEWATCH_KAFKA__SASL_USERNAME", "u", "GATEWATCH_KAFKA__BOOTSTRAP_SERVERS: is missing"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_environment_names_the_variable(
    name: str, value: str, said: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one with one underscore too few, which nothing would ever read."""
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as caught:
        loaded(file, '[run]\npublish_interval = "2s"\n')
    assert str(caught.value).startswith(f"environment: {said}"), caught.value


@pytest.mark.parametrize(
    "name",
    ["GATEWATCH_FAULTS", "GATEWATCH_SERVICE_HOST", "GATEWATCH_PORT_9464_TCP_ADDR", "GATEWATCH_PAGE_SERVICE_PORT_HTTP"],
)
def test_variables_that_are_no_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the tests; and those that Kubernetes makes for a service, without which no container there would start."""
    monkeypatch.setenv(name, "tcp://10.0.0.1:9464")
    assert load_settings(None).data == Path("gatewatch-data")


def test_metrics_can_be_turned_off_by_an_empty_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWATCH_METRICS__LISTEN", "")
    assert load_settings(None).metrics.listen == ""


def test_a_port_that_cannot_be_names_the_range() -> None:
    for port in ("99999", "9" * 5_000):
        with pytest.raises(ValueError, match="a port is a number from 0 to 65535"):
            listen_address(f"127.0.0.1:{port}")


@pytest.mark.parametrize("once", [[], ["--once"]])
def test_an_address_for_everybody_is_refused_also_once(once: list[str], file: Path) -> None:
    """Who tries a configuration with --once must not learn of it at the first start of the service."""
    file.write_text('[metrics]\nlisten = "0.0.0.0:9464"\n' + FILES, encoding="utf-8")
    result = gatewatch("--config", file, "run", *once)
    assert result.code == 2
    assert result.complaint.startswith("metrics.listen: 0.0.0.0 can be reached from other machines; ")


@pytest.mark.parametrize("wrong", ["sasl_mechanism = 3", 'sasl_mechanism = "PLIAN"', "sasl_username = 3", "zzz = 1"])
def test_no_mistake_shows_a_password(wrong: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the one from the file nor the one from the environment, whatever else is wrong in their table."""
    with pytest.raises(InputError) as caught:
        loaded(file, BROKER + f'sasl_password = "hunter2"\n{wrong}\n')
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("GATEWATCH_KAFKA__SASL_PASSWORD", "hunter3")
    with pytest.raises(InputError) as caught:
        loaded(file, BROKER + f"{wrong}\n")
    assert "hunter3" not in str(caught.value)
    monkeypatch.setenv("GATEWATCH_KAFKA", "hunter4")
    with pytest.raises(InputError) as caught:
        loaded(file, BROKER)
    assert "hunter4" not in str(caught.value)


def test_settings_do_not_show_a_password_either(file: Path) -> None:
    settings = loaded(file, BROKER + 'sasl_mechanism = "PLAIN"\nsasl_username = "u"\nsasl_password = "hunter2"\n')
    assert "hunter2" not in repr(settings) + str(settings) + str(settings.model_dump())


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:9464", ("127.0.0.1", 9464)), ("[::1]:80", ("::1", 80)), ("host.example:0", ("host.example", 0))],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert listen_address(text) == address


@pytest.mark.parametrize("text", ["9464", ":9464", "host", "host:", "host:x", "host:65536", "host:-1", "host:²"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="is no address"):
        listen_address(text)


def test_without_a_source_there_is_nothing_to_run() -> None:
    """The line holds what to write."""
    result = gatewatch("run")
    assert result.code == 2
    assert result.complaint == (
        "no source to read: write three lines into gatewatch.toml (or the file of --config): "
        '`[[sources]]`, `type = "jsonl"`, `paths = ["logs/*.jsonl"]`'
    )
