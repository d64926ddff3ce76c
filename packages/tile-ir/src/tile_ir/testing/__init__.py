"""The public test kit (extra `tile-ir[testing]`): what packages and third parties test themselves
with.

* `conformance`: classes that test a pass or a target when subclassed in three lines, and a command
  that says which level one reaches.
* `corpus`: tile programs as people write them, each with sizes and its value by plain numpy.
* `random`: seeded random programs with the tolerances of their results, random inputs for any
  program; `strategies`: the same for hypothesis.
* `compare`: closeness by dtype, with a message that says where; `host_memory`: calling an entry on
  host memory.
* `by_path`: modules by the path of their file, for kernels that several tests use.
* `golden`, `requires`: pytest plugins for golden files and for what a machine may lack.
* `specs`: three invented architectures.

Nothing is imported here: each module has needs of its own.
"""
