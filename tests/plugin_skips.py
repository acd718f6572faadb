"""Pytest plugin for CI: a skip fails the session unless its reason starts with ``platform:``.

A developer's machine may lack a browser, and its skips say so. CI has everything installed, so a skip there means that
something went untested without anybody noticing. What no installation can mend (an operating system without a feature)
is skipped with a reason such as ``platform: no fork on Windows``. ``make test`` loads the plugin when ``CI=true``;
expected failures (``xfail``) are not skips.
"""

from __future__ import annotations

import pytest

ALLOWED = "platform:"

_unexpected: pytest.StashKey[list[str]] = pytest.StashKey()


class _SkipsFail:
    def __init__(self, config: pytest.Config) -> None:
        self._skips: list[str] = config.stash.setdefault(_unexpected, [])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        # importorskip and pytest.skip(allow_module_level=True) skip whole files while they are collected.
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        # A skip's longrepr is (path, line, "Skipped: <reason>").
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not reason.startswith(ALLOWED):
            self._skips.append(f"{report.nodeid}: {reason}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._skips and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._skips:
            terminalreporter.section("skipped in CI, which counts as a failure", red=True, bold=True)
            for line in self._skips:
                terminalreporter.line(line)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_SkipsFail(config), "gatewatch-skips-fail")
