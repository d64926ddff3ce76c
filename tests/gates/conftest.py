"""A table of what every kernel takes on every architecture, printed after the gates."""

LINE = "{:<30} {:<8} {:>9} {:>7} {:>7} {:>7}".format


def pytest_terminal_summary(terminalreporter):
    """Rows are properties of the tests' reports, so that tests may run in several processes."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    rows = sorted(
        value
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "usage"
    )
    if rows:
        terminalreporter.section("a thread's registers, bytes spilled and local; bytes of source")
        terminalreporter.write_line(
            LINE("kernel", "arch", "registers", "spilled", "local", "source")
        )
        for row in rows:
            terminalreporter.write_line(LINE(*row))
