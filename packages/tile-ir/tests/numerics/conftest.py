"""Floating-point warnings are off: overflow and signalling NaNs are what these tests are about."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _quiet_floating_point():
    with np.errstate(all="ignore"):
        yield
