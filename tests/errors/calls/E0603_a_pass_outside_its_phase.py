"""A pass outside its phase."""

from tile_passes.base import Pass
from tile_passes.default import default_pipeline

mine = Pass(name="mine", phase="lower", rewrite=lambda function, cx, plan: function)
default_pipeline().after("simplify", mine)
