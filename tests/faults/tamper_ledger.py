"""Tampering with the bytes of the ledger, and with what is kept beside its segments."""

from __future__ import annotations

import base64
import shutil

from ingest.ledger.note import SignerKey, read_checkpoint
from tests.faults.tampered import (
    Trial,
    What,
    all_chunks,
    chunks,
    content,
    encoded,
    kind,
    numbers,
    pick,
    rewrite,
    write_all,
)
from tests.ingest.builders import line


def flip(held: bytes, trial: Trial) -> bytes:
    """One bit changed."""
    place, bit = trial.chance.randrange(len(held)), trial.chance.randrange(8)
    return held[:place] + bytes([held[place] ^ 1 << bit]) + held[place + 1 :]


@kind(What.LEDGER, 230)
def flip_a_bit(trial: Trial) -> None:
    number = trial.chance.choice(numbers(trial.ledger))
    rewrite(trial.ledger, number, flip(content(trial.ledger, number), trial))


@kind(What.LEDGER, 120)
def flip_a_bit_of_a_sealed_file(trial: Trial) -> None:
    path = trial.chance.choice(sorted(trial.ledger.glob("*.zst")))
    before = content(trial.ledger, int(path.name[:8]))
    path.write_bytes(flip(path.read_bytes(), trial))
    try:
        trial.changed = content(trial.ledger, int(path.name[:8])) != before
    except Exception:
        trial.changed = True


@kind(What.LEDGER, 60)
def delete_a_line(trial: Trial) -> None:
    number, held, place = pick(trial, lines=2)
    del held[place][1][trial.chance.randrange(len(held[place][1]))]
    honest = trial.chance.random() < 0.7
    rewrite(trial.ledger, number, b"".join(encoded(chunk, honest=honest or chunk is not held[place]) for chunk in held))


@kind(What.LEDGER, 60)
def delete_a_line_and_count_through(trial: Trial) -> None:
    found = all_chunks(trial.ledger)
    number, _, place = pick(trial, lines=2)
    del found[number][place][1][trial.chance.randrange(len(found[number][place][1]))]
    write_all(trial.ledger, found)


@kind(What.LEDGER, 60)
def insert_a_line(trial: Trial) -> None:
    found = all_chunks(trial.ledger)
    number, _, place = pick(trial)
    lines = found[number][place][1]
    lines.insert(trial.chance.randrange(len(lines) + 1), line(f"forged-{trial.chance.random()}"))
    write_all(trial.ledger, found, renumber=trial.chance.random() < 0.5)


@kind(What.LEDGER, 50)
def swap_two_lines(trial: Trial) -> None:
    number, held, place = pick(trial, lines=6)
    lines = held[place][1]
    one, other = trial.chance.sample(range(len(lines)), 2)
    trial.changed = lines[one] != lines[other]
    lines[one], lines[other] = lines[other], lines[one]
    rewrite(trial.ledger, number, b"".join(map(encoded, held)))


@kind(What.LEDGER, 60)
def delete_a_chunk(trial: Trial) -> None:
    number, held, place = pick(trial)
    del held[place]
    rewrite(trial.ledger, number, b"".join(map(encoded, held)))


@kind(What.LEDGER, 40)
def delete_a_chunk_and_count_through(trial: Trial) -> None:
    found = all_chunks(trial.ledger)
    number, _, place = pick(trial)
    del found[number][place]
    write_all(trial.ledger, found)


@kind(What.LEDGER, 60)
def duplicate_a_chunk(trial: Trial) -> None:
    found = all_chunks(trial.ledger)
    number, _, place = pick(trial)
    header, lines = found[number][place]
    # Not at the very end: what is added there looks like something that was received, and waits for the next run.
    before = trial.chance.randrange(place + 1) if place else 0
    found[number].insert(min(before, len(found[number]) - 2), (dict(header), list(lines)))
    write_all(trial.ledger, found, renumber=trial.chance.random() < 0.5)


@kind(What.LEDGER, 60)
def reorder_chunks(trial: Trial) -> None:
    found = all_chunks(trial.ledger)
    number = trial.chance.choice([number for number, held in found.items() if len(held) > 1])
    held = found[number]
    one, other = trial.chance.sample(range(len(held)), 2)
    held[one], held[other] = held[other], held[one]
    write_all(trial.ledger, found, renumber=trial.chance.random() < 0.5)


@kind(What.LEDGER, 20)
def swap_segments(trial: Trial) -> None:
    one, other = trial.chance.sample(numbers(trial.ledger), 2)
    first, second = content(trial.ledger, one), content(trial.ledger, other)
    rewrite(trial.ledger, one, second)
    rewrite(trial.ledger, other, first)


@kind(What.LEDGER, 15)
def delete_a_segment(trial: Trial) -> None:
    trial.chance.choice(sorted(trial.ledger.glob("*.ndjson*"))).unlink()


@kind(What.LEDGER, 15)
def repeat_a_segment(trial: Trial) -> None:
    path = trial.chance.choice(sorted(trial.ledger.glob("*.zst")))
    shutil.copy(path, path.with_name(f"{len(numbers(trial.ledger)) + trial.chance.choice((1, 2)):08d}.ndjson.zst"))


@kind(What.LEDGER, 50)
def cut_the_tail(trial: Trial) -> None:
    last = numbers(trial.ledger)[-1]
    held = content(trial.ledger, last)
    rewrite(trial.ledger, last, held[: trial.chance.randrange(len(held))])


@kind(What.LEDGER, 30)
def cut_the_tail_between_chunks(trial: Trial) -> None:
    last = numbers(trial.ledger)[-1]
    held = chunks(content(trial.ledger, last))
    rewrite(trial.ledger, last, b"".join(map(encoded, held[: trial.chance.randrange(len(held))])))


@kind(What.LEDGER, 60)
def seal_something_else(trial: Trial) -> None:
    """A sealed segment is decompressed, changed with an honest header, and compressed again."""
    sealed = sorted(trial.ledger.glob("*.zst"))
    number = int(trial.chance.choice(sealed).name[:8])
    held = chunks(content(trial.ledger, number))
    place = trial.chance.choice([place for place, chunk in enumerate(held) if chunk[1]])
    lines = held[place][1]
    lines[trial.chance.randrange(len(lines))] = line(f"forged-{trial.chance.random()}")
    rewrite(trial.ledger, number, b"".join(map(encoded, held)))


@kind(What.LEDGER, 15)
def add_a_frame_to_a_sealed_segment(trial: Trial) -> None:
    path = trial.chance.choice(sorted(trial.ledger.glob("*.zst")))
    path.write_bytes(path.read_bytes() + trial.chance.choice((path.read_bytes(), b"\0", b"more")))


@kind(What.LEDGER, 15)
def put_a_plain_segment_over_a_sealed_one(trial: Trial) -> None:
    number = int(trial.chance.choice(sorted(trial.ledger.glob("*.zst"))).name[:8])
    held = chunks(content(trial.ledger, number))
    held[0][0]["received_at"] = "2020-01-01T00:00:00.000000+00:00"
    (trial.ledger / f"{number:08d}.ndjson").write_bytes(b"".join(map(encoded, held)))


_FIELDS = {
    "received_at": lambda chance: f"2026-01-0{chance.randrange(1, 9)}T00:00:00.000000+00:00",
    "source": lambda chance: {"name": f"s{chance.random()}", "kind": "jsonl", "path": "x"},
    "from": lambda chance: {"line": chance.randrange(1000, 2000)},
    "to": lambda chance: {"line": chance.randrange(1000, 2000)},
    "positions": lambda chance: {f"file:{chance.random()}": {"line": 1}},
    "redactions": lambda chance: {"0": {"sha256": "0" * 64, "counts": {"email": chance.randrange(1, 99)}}},
    "markers": lambda chance: {"0": {"bytes": chance.randrange(1, 99), "sha256": "0" * 64}},
    "dialect": lambda chance: "xenia",
    "schema": lambda chance: chance.randrange(2, 99),
    "final": lambda chance: None,
    "leaf": lambda chance: chance.randrange(100, 200),
    "commit": lambda chance: chance.randrange(100, 200),
    "seq": lambda chance: chance.randrange(1000, 2000),
    "sha256": lambda chance: "0" * 64,
    "bytes": lambda chance: chance.randrange(1, 5),
    "lines": lambda chance: chance.randrange(100, 200),
    "v": lambda chance: chance.randrange(3, 9),
}


@kind(What.LEDGER, 150)
def change_a_header(trial: Trial) -> None:
    number, held, place = pick(trial, lines=1)
    name = trial.chance.choice(sorted(_FIELDS))
    header = held[place][0]
    header[name] = not header[name] if name == "final" else _FIELDS[name](trial.chance)
    rewrite(trial.ledger, number, b"".join(encoded(chunk, honest=False) for chunk in held))


@kind(What.BESIDE, 120)
def flip_a_bit_of_the_checkpoints(trial: Trial) -> None:
    path = trial.ledger / "checkpoints"
    path.write_bytes(flip(path.read_bytes(), trial))


@kind(What.BESIDE, 40)
def edit_the_checkpoints(trial: Trial) -> None:
    path = trial.ledger / "checkpoints"
    notes = [f"gatewatch/{note}" for note in path.read_text(encoding="utf-8").split("gatewatch/")[1:]]
    place = trial.chance.randrange(len(notes))
    size = read_checkpoint(notes[place].partition("\n\n")[0] + "\n").size
    changes = {
        "repeat": lambda: notes.insert(place, notes[place]),
        "reorder": lambda: notes.insert(0, notes.pop()),
        "size": lambda: notes.__setitem__(place, notes[place].replace(f"\n{size}\n", f"\n{size + 1}\n")),
        "line": lambda: notes.insert(place, "a line\n"),
        "empty line": lambda: notes.insert(place, "\n"),
        "signature": lambda: notes.__setitem__(place, notes[place] + notes[place].rpartition("\n\n")[2]),
        "extension": lambda: notes.__setitem__(place, notes[place].replace("\n\n", "\nmore\n\n")),
        "name": lambda: notes.__setitem__(place, notes[place].replace("example.com/log", "example.com/lag")),
    }
    changes[trial.chance.choice(sorted(changes))]()
    path.write_text("".join(notes), encoding="utf-8")


@kind(What.BESIDE, 15)
def sign_a_checkpoint_anew_with_another_key(trial: Trial) -> None:
    path = trial.ledger / "checkpoints"
    texts = path.read_text(encoding="utf-8").split("gatewatch/")[1:]
    place = trial.chance.randrange(len(texts))
    text = "gatewatch/" + texts[place].partition("\n\n")[0] + "\n"
    (signature,) = SignerKey.generate("example.com/log").sign(text).signatures
    told = base64.b64encode(signature.key_id + signature.signature).decode()
    texts[place] = f"{text.removeprefix('gatewatch/')}\n— example.com/log {told}\n"
    path.write_text("".join(f"gatewatch/{note}" for note in texts), encoding="utf-8")


@kind(What.BESIDE, 15, live=True)
def change_the_origin(trial: Trial) -> None:
    path = trial.ledger / "origin"
    changed = trial.chance.choice((f"gatewatch/{trial.chance.getrandbits(128):032x}\n", "", "gatewatch/x\n", None))
    if changed is None:
        path.unlink()
    else:
        path.write_text(changed)


@kind(What.BESIDE, 15)
def put_another_public_key_there(trial: Trial) -> None:
    other = SignerKey.generate("example.com/log").verifier
    (trial.data / "keys" / "signing.pub").write_text(trial.chance.choice((f"{other}\n", "nonsense\n", "\n")))
