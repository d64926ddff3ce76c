"""A name of another compiler's package that has no counterpart here."""

from tile_frontend.compat import testing

testing.no_such_helper
