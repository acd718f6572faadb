"""Running the command line as a user does, in this process where nothing is lost by it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gatewatch.cli import main

ROOT = Path(__file__).parents[2]
XENIA = ROOT.parent / "shared" / "data" / "xenia-support"


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line that an expected error is, without the name in front; nothing else was printed."""
        assert self.out == ""
        line = self.err.removesuffix("\n")
        assert line.startswith("gatewatch: "), self.err
        assert "\n" not in line
        assert "Traceback" not in line
        return line.removeprefix("gatewatch: ")


def gatewatch(*arguments: object) -> Result:
    """Run `gatewatch` with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["gatewatch", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        else:
            code = 0
    return Result(code, out.getvalue(), err.getvalue())


def process(*arguments: object, stdin: bytes = b"", **environment: str) -> Result:
    """Run `python -m gatewatch` in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-m", "gatewatch", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=os.environ | environment,
        timeout=120,
    )
    return Result(found.returncode, found.stdout.decode(), found.stderr.decode())
