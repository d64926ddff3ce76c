# Written by docs/generate/stubs.py: run nox -s surface.
"""What type checkers and editors see of names that are made when they are imported."""

