"""What the end-to-end tests share: every kernel is compiled anew, with poisoned outputs.

Each is compared twice: with the oracle, which runs the same program, and with numpy, which knows
nothing of the program.
"""

import pytest


@pytest.fixture(autouse=True)
def anew(cache_of_the_session, poisoned_arrays):
    """Every test compiles into the session's cache and gets outputs full of garbage."""
