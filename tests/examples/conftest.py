"""What the tests of the examples share: the folder's own imports, a cache, poisoned outputs."""

import pytest


@pytest.fixture(autouse=True)
def anew(cache_of_the_session, poisoned_arrays):
    """Every test compiles into the session's cache and gets outputs full of garbage."""
