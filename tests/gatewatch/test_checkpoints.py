"""From `keys init` to a verification by somebody who trusts nothing on the machine but what they brought along."""

from __future__ import annotations

import base64
import json
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.ledger import segments
from ingest.ledger.chunks import leaf_hash
from ingest.ledger.merkle import check_consistency
from ingest.ledger.note import SignerKey, VerifierKey, write_note
from ingest.pipeline import Pipeline
from ingest.rebuild import rebuild
from ingest.verify_copy import verify_copy
from tests.gatewatch.terminal import Result, gatewatch
from tests.ingest.builders import line, lines

ALONE = "internally consistent only: without a checkpoint from outside, a ledger that was rewritten looks the same"


@dataclass(frozen=True)
class Signed:
    """A data directory with four chunks, of which three were signed; and what was kept elsewhere."""

    data: Path
    checkpoint: Path
    key: Path
    ingested: Result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    """Made by commands alone. Read only."""
    folder = tmp_path_factory.mktemp("checkpoints")
    data, checkpoint = folder / "data", folder / "elsewhere" / "checkpoint"
    checkpoint.parent.mkdir()
    config = folder / "gatewatch.toml"
    config.write_text(f"[checkpoints]\nfiles = [{json.dumps(str(checkpoint))}]\n")
    for name, ids in (("1", "ab"), ("2", "c"), ("3", "de"), ("4", "f")):
        (folder / f"{name}.jsonl").write_bytes(lines(*ids))
    told = gatewatch("--data", data, "keys", "init", "--name", "example.com/log")
    assert told.code == 0, told.err
    key = checkpoint.with_name("key")
    key.write_text(told.out)
    found = gatewatch("--data", data, "--config", config, "ingest", *(folder / f"{name}.jsonl" for name in "123"))
    assert found.code == 0, found.err
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(folder / "4.jsonl")])
    return Signed(data, checkpoint, key, found)


@pytest.fixture
def signed(made: Signed, tmp_path: Path) -> Signed:
    """A copy of it, to be tampered with."""
    data = shutil.copytree(made.data, tmp_path / "data", symlinks=True)
    return Signed(data, made.checkpoint, made.key, made.ingested)


def verify_alone(signed: Signed, *more: object) -> Result:
    """The ledger alone, with what was kept elsewhere: quick, since nothing is judged."""
    return gatewatch("verify", "--ledger", signed.data, "--checkpoint", signed.checkpoint, "--key", signed.key, *more)


def test_keys_are_made_once_and_say_where_to_keep_them(tmp_path: Path) -> None:
    result = gatewatch("--data", tmp_path, "keys", "init", "--json")
    assert result.code == 0
    assert VerifierKey.parse(result.json["key"]).name == result.json["name"] == "gatewatch"
    assert "keep a copy of the public key where nobody can write" in result.err
    assert "PRIVATE" not in result.out + result.err
    again = gatewatch("--data", tmp_path, "keys", "init")
    assert again.code == 2
    assert "is there already and is not overwritten" in again.complaint
    elsewhere = gatewatch("--data", tmp_path, "keys", "init", "--out", tmp_path / "vault", "--name", "a b")
    assert (elsewhere.code, (tmp_path / "vault").exists()) == (2, False)


def test_a_key_has_the_name_of_a_ledger_that_is_there(made: Signed, tmp_path: Path) -> None:
    result = gatewatch("--data", made.data, "keys", "init", "--out", tmp_path / "vault")
    assert result.code == 0
    assert result.out.split("+")[0] == (made.data / "ledger" / "origin").read_text().strip()
    assert "under [checkpoints]" in result.err


def test_ingest_signs_at_its_end(made: Signed) -> None:
    """Nothing is said about it when all is well; what was handed out is what the ledger keeps."""
    assert "checkpoint" not in made.ingested.err
    assert made.checkpoint.read_bytes() == (made.data / "ledger" / "checkpoints").read_bytes()


def test_what_a_checkpoint_from_outside_shows(made: Signed) -> None:
    """And what it does not: the chunk that came later."""
    result = verify_alone(made)
    assert (result.code, result.err) == (0, "")
    assert "1 checkpoint of its own compared, 1 of 1 from outside hold" in result.out
    last = result.out.splitlines()[-1]
    assert last.startswith("up to line 5, chunk 3, received 20")
    assert last.endswith(
        "UTC, the ledger is what it was when the checkpoint from outside was signed; "
        "the chunk after it is internally consistent only"
    )


def test_the_document_holds_a_proof_that_anybody_can_check(made: Signed) -> None:
    """With the old root and the new one alone: RFC 6962, 2.1.2."""
    found = verify_alone(made, "--json").json
    assert found["origin"] == (made.data / "ledger" / "origin").read_text().strip()
    assert (found["tree_size"], found["chunks"], found["checkpoints"]["own"]) == (4, 4, 1)
    (outside,) = found["checkpoints"]["outside"]
    assert (outside["size"], outside["holds"]) == (3, True)
    old, new = base64.b64decode(outside["root"]), base64.b64decode(found["root"])
    check_consistency(3, old, 4, new, [base64.b64decode(step) for step in outside["proof"]])


def test_without_one_it_says_so(made: Signed) -> None:
    result = gatewatch("verify", "--ledger", made.data / "ledger")
    assert (result.code, result.out.splitlines()[-1]) == (0, ALONE)


def test_the_data_directory_is_verified_with_its_database(signed: Signed) -> None:
    """One whole run, which also records what it found."""
    shutil.rmtree(signed.data / "keys")
    result = gatewatch("--data", signed.data, "verify", "--checkpoint", signed.checkpoint, "--key", signed.key)
    assert result.code == 0, result.out
    assert "4 chunks with 6 lines hashed; 6 events compared" in result.out
    assert result.out.splitlines()[-1].startswith("up to line 5, chunk 3, received ")
    plain = gatewatch("verify", "--ledger", signed.data)
    assert "not compared: the signatures of the ledger's own checkpoints: no public key is known" in plain.out


def problems(result: Result) -> list[str]:
    """What a verification complains of."""
    assert result.code == 3, result.out
    return [told.removeprefix("problem: ") for told in result.out.splitlines() if told.startswith("problem: ")]


def test_another_key(made: Signed) -> None:
    """As after somebody signed everything anew: nothing that this key did not sign counts."""
    other = str(SignerKey.generate("example.com/log").verifier)
    result = gatewatch("verify", "--ledger", made.data, "--checkpoint", made.checkpoint, "--key", other)
    own, outside = problems(result)
    name = VerifierKey.parse(made.key.read_text().strip())
    told = f"it is signed by example.com/log+{name.key_id.hex()}, which is no key that was given"
    assert own == f"the ledger's own checkpoint of 3 chunks cannot be trusted: {told}"
    assert outside == f"the checkpoint of 3 chunks cannot be trusted: {told}"


def test_another_ledger(signed: Signed) -> None:
    (signed.data / "ledger" / "checkpoints").unlink()
    (signed.data / "ledger" / "origin").write_text("gatewatch/" + "0" * 32 + "\n")
    (problem,) = problems(verify_alone(signed))
    assert problem.startswith("the checkpoint of 3 chunks is of gatewatch/")
    assert f"but this ledger is gatewatch/{'0' * 32}: it was begun anew" in problem


def cut(data: Path, keep: int) -> None:
    """Keep so many chunks of the ledger, and make the database fit."""
    path = data / "ledger" / "00000001.ndjson"
    ends = [stored.location.offset + stored.location.length for stored in segments.Segments(data / "ledger").read()]
    path.write_bytes(path.read_bytes()[: ends[keep - 1]])
    (data / "work.duckdb").unlink()
    rebuild(data, force=True)


def test_a_ledger_that_was_cut(signed: Signed) -> None:
    cut(signed.data, 2)
    (own, outside) = problems(verify_alone(signed))
    assert own == "the ledger was cut: it signed 3 chunks, and there are 2"
    assert outside == "the ledger was cut: it has 2 chunks, and the checkpoint of 3 chunks counts more"


def test_what_came_after_the_checkpoint_is_not_covered(signed: Signed) -> None:
    """Nobody can tell that the fourth chunk ever was: the statement says where knowledge ends."""
    cut(signed.data, 3)
    result = verify_alone(signed)
    assert result.code == 0
    assert result.out.splitlines()[-1].endswith("was signed; nothing came after it")


def test_a_ledger_that_was_rewritten(signed: Signed) -> None:
    path = signed.data / "ledger" / "00000001.ndjson"
    first = path.read_bytes()
    path.write_bytes(first.replace(b'"final":true', b'"final":false', 1))
    (own, outside) = problems(verify_alone(signed))
    assert own == "the ledger was rewritten: its first 3 chunks are not those it signed"
    assert outside == "the ledger was rewritten: its first 3 chunks are not those of the checkpoint of 3 chunks"


def test_checkpoints_that_were_taken_away(signed: Signed) -> None:
    """The ledger is whole, but what it signed is gone; a copy that is older than the checkpoint looks like that too."""
    (signed.data / "ledger" / "checkpoints").unlink()
    assert verify_alone(signed).code == 0
    result = gatewatch("--data", signed.data, "verify", "--checkpoint", signed.checkpoint, "--key", signed.key)
    (problem,) = problems(result)
    assert problem.startswith("the checkpoint of 3 chunks is missing from ")


def test_a_copy_with_sealed_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 1500)
    for number in range(6):
        (tmp_path / f"{number}.jsonl").write_bytes(lines(f"e{number}"))
        with Pipeline(tmp_path / "data") as pipeline:
            pipeline.ingest_paths([str(tmp_path / f"{number}.jsonl")])
            expected = pipeline.ledger_state()
    copy = shutil.copytree(tmp_path / "data" / "ledger", tmp_path / "copy")
    assert len(list(copy.glob("*.zst"))) >= 2
    report = verify_copy(copy)
    assert (report.problems, report.lines) == ([], 6)
    assert (report.tree.size, base64.b64decode(report.tree.root).hex()) == expected
    sealed = copy / "00000001.ndjson.zst"
    sealed.write_bytes(sealed.read_bytes()[:-9])
    assert verify_copy(copy).problems


def test_an_unfinished_end_is_no_damage(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Being written, or torn by a crash: either way nothing that anything depends on."""
    monkeypatch.setattr("ingest.verify_copy._PAUSE_SECONDS", 0)
    with (signed.data / "ledger" / "00000001.ndjson").open("ab") as file:
        file.write(b'{"v":2,"leaf":4,"commit":4,"seq":7,"lines":')
    result = verify_alone(signed)
    assert result.code == 0
    assert "unfinished: the ledger ends with a part of a commit" in result.out


def test_a_ledger_that_is_written_to_meanwhile(tmp_path: Path) -> None:
    """Whatever moment is caught: never damage, and every chunk that was there at the beginning."""
    data = tmp_path / "data"
    (tmp_path / "0.jsonl").write_bytes(lines("first"))
    stop = threading.Event()

    def write() -> None:
        number = 0
        with Pipeline(data) as pipeline:
            while not stop.is_set():
                number += 1
                (tmp_path / f"{number}.jsonl").write_bytes(b"".join(line(f"e{number}-{i}") + b"\n" for i in range(200)))
                pipeline.ingest_paths([str(tmp_path / f"{number}.jsonl")])

    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(tmp_path / "0.jsonl")])
    writer = threading.Thread(target=write)
    writer.start()
    try:
        before = 1
        for _ in range(20):
            report = verify_copy(data)
            assert report.problems == []
            assert report.chunks >= before
            before = report.chunks
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--checkpoint", "c"], "--checkpoint needs --key, the public key that you kept"),
        (["--checkpoint", "gone", "--key", "key"], "gone does not exist: name the file of a checkpoint"),
        (["--checkpoint", "key", "--key", "key"], "key holds something else than checkpoints"),
        (["--checkpoint", "c", "--key", "gone"], "gone does not exist: name the file of the public key"),
        (["--checkpoint", "c", "--key", "c"], "c holds no public key"),
        (["--ledger", "gone"], "gone holds no ledger: name the folder of its segments, or the data directory"),
        (["--ledger", "."], ". holds no ledger"),
    ],
)
def test_what_cannot_be_used_is_one_line(arguments: list[str], told: str) -> None:
    key = SignerKey.generate("log")
    Path("key").write_text(f"{key.verifier}\n")
    Path("c").write_bytes(write_note(key.sign("gatewatch/x\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n")))
    result = gatewatch("verify", *arguments)
    assert result.code == 2
    assert result.complaint.startswith(told)


def test_a_key_that_cannot_be_used_stops_ingest_before_it_reads(tmp_path: Path) -> None:
    """Whoever wrote it down relies on it."""
    (tmp_path / "gatewatch.toml").write_text('[checkpoints]\nkey = "gone.key"\n')
    (tmp_path / "a.jsonl").write_bytes(lines("a"))
    config = tmp_path / "gatewatch.toml"
    result = gatewatch("--data", tmp_path / "data", "--config", config, "ingest", tmp_path / "a.jsonl")
    assert result.code == 2
    assert result.complaint.endswith("gone.key does not exist: name the file of the private key")
    assert not (tmp_path / "data").exists()


def test_the_leaves_are_those_of_the_database(made: Signed) -> None:
    """Who has only the published tables can compute the root that was signed."""
    stored = list(segments.Segments(made.data / "ledger").read())
    content = (made.data / "ledger" / "00000001.ndjson").read_bytes()
    first = stored[0].location
    assert stored[0].leaf == leaf_hash(content[: first.length])
