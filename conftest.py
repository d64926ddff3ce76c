"""Settings of every test run: hypothesis repeats the same examples, so a red build stays red."""

from importlib.util import find_spec

# A wheel that is tested alone brings only what its own tests declare.
if find_spec("hypothesis") is not None:
    from hypothesis import settings

    settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
    settings.load_profile("repeatable")

# Golden files and `requires`; they need nothing but pytest.
if find_spec("tile_ir") is not None:
    pytest_plugins = ["tile_ir.testing.golden", "tile_ir.testing.requires"]
