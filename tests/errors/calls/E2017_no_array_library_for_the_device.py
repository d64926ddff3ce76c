"""No array library for the device."""

from tile_frontend.adapters import adapter_on

adapter_on("abacus")
