"""Codes of accelerator targets: their compiler, the driver, loading and launching."""

CODES = {
    "E3001": (
        "no device compiler",
        "The target's compiler was not found. The help line names the package or program that "
        "brings one; no accelerator and no driver are needed to compile.",
    ),
    "E3002": (
        "the device compiler refused the kernel",
        "The generated source did not compile. Its first messages are placed on the lines of the "
        "kernel they come from. If the kernel holds no source of its own, please report it.",
    ),
    "E3003": (
        "compiled kernel cannot be written",
        "The folder of the output cannot be written, or the disk is full. Nothing was left behind.",
    ),
    "E3004": (
        "asynchronous matrix instructions run one after another",
        "The compiler found registers of a matrix instruction in flight touched, or too few of "
        "them, and made every such instruction wait: the kernel would be right and several times "
        "too slow. Use smaller blocks, fewer stages or more threads, or another schedule.",
    ),
    "E3005": (
        "registers spill to memory",
        "The kernel needs more registers than a thread may have, so values travel through memory "
        "inside the loop. Use smaller blocks or more threads.",
    ),
    "E3006": (
        "hand-over of registers between warps ignored",
        "The compiler could not honour the register limits of the roles, usually because the "
        "number of threads of a block is not a constant or a called function is not inlined.",
    ),
    "E3007": (
        "compiled kernel cannot be loaded",
        "The driver refused the binary: it was made for another architecture or is damaged. "
        "Compile again for the device at hand.",
    ),
    "E3008": (
        "no device",
        "There is no accelerator, no driver, or the driver is older than the runtime needs. "
        "Kernels can still be compiled by naming an architecture: `-arch=NAME`.",
    ),
    "E3009": (
        "launch failed",
        "The driver refused the launch. The note has its own words.",
    ),
    "E3010": (
        "too much shared memory",
        "A block asks for more shared memory than the device has for one block. Use smaller "
        "blocks or fewer stages.",
    ),
    "E3011": (
        "too many blocks",
        "A launch has more tiles than the device counts blocks (2147483647). Use larger blocks.",
    ),
    "E3012": (
        "no binding to the driver",
        "The Python package through which kernels are loaded and launched is not installed.",
    ),
    "E3013": (
        "an assertion about the arguments failed",
        "A condition that the function states about its arguments does not hold for this call.",
    ),
    "E3014": (
        "no description fits the device",
        "The accelerator at hand has an architecture that no description covers, nor one that it "
        "could run the code of. Name the nearest one by `-arch=NAME`.",
    ),
    "E3015": (
        "instruction not available",
        "The emitted code asks for an instruction that this architecture does not have.",
    ),
    "E3016": (
        "driver without bulk copies",
        "The driver cannot describe tensors to the copy engine, or refused to. Update the driver.",
    ),
    "E3017": (
        "argument does not suit bulk copies",
        "The copy engine takes tensors at an address and with strides that are multiples of 16 "
        "bytes, the last axis contiguous. Pass such a tensor, or compile the generic variant, "
        "which copies elements.",
    ),
    "E3018": (
        "no memory for a captured launch",
        "A kernel whose blocks draw their tiles keeps a counter in device memory, and none can be "
        "allocated while a graph is captured. Call the kernel once before the capture.",
    ),
    "E3090": (
        "device code generation inconsistent",
        "The prelude or the emitter of a device target contradicts itself: a defect of ours.",
    ),
}
