"""What this package tells the others about its search strategies and its command, one manifest for
each."""

from tile_ir.plugin import CommandManifest, TunerManifest

EXHAUSTIVE = TunerManifest(
    name="exhaustive",
    plugin_api=1,
    description="every member of the space",
    factory="tile_tune.searchers.exhaustive:Exhaustive",
)
RANDOM = TunerManifest(
    name="random",
    plugin_api=1,
    description="members at random",
    factory="tile_tune.searchers.sampled:Sampled",
)
EVOLUTIONARY = TunerManifest(
    name="evolutionary",
    plugin_api=1,
    description="children of the better half",
    factory="tile_tune.searchers.evolutionary:Evolutionary",
)
HALVING = TunerManifest(
    name="halving",
    plugin_api=1,
    description="successive halving with confidence intervals",
    factory="tile_tune.searchers.halving:Halving",
)
GUIDED = TunerManifest(
    name="guided",
    plugin_api=1,
    description="a Gaussian process on the logarithm of time",
    factory="tile_tune.searchers.guided:Guided",
)
COMMAND = CommandManifest(
    name="tune",
    plugin_api=1,
    description="search the best parameters of a kernel, or list what is known",
    factory="tile_tune.cli:add",
)
