"""Codes of launches: arguments that do not fit their parameters, and targets that cannot be had."""

CODES: dict[str, tuple[str, str]] = {
    "E2001": (
        "wrong number of arguments",
        "Pass the inputs in parameter order. Outputs are returned, not passed.",
    ),
    "E2002": (
        "wrong element type",
        "Convert the argument, or declare the parameter with its type.",
    ),
    "E2003": (
        "wrong number of axes",
        "Reshape the argument to the declared number of axes.",
    ),
    "E2004": (
        "wrong extent",
        "An extent (or stride) of the argument is not what the kernel was compiled for, or no "
        "dimension has a value that makes it so.",
    ),
    "E2005": (
        "extents that contradict each other",
        "Two arguments (or two axes) give different values to one dimension.",
    ),
    "E2006": (
        "argument is not contiguous",
        "A T.Tensor is row-major without gaps. Pass a contiguous copy, or declare the parameter as "
        "T.StridedTensor.",
    ),
    "E2007": (
        "argument on another device",
        "Move the argument to the kernel's device, or compile for its device.",
    ),
    "E2008": (
        "argument is None",
        "Only a parameter that the kernel never touches may be None.",
    ),
    "E2009": (
        "argument is no tensor",
        "Pass a numpy array, a torch tensor, or anything that speaks DLPack.",
    ),
    "E2010": (
        "bad scalar argument",
        "Pass a Python number of the declared kind and range.",
    ),
    "E2011": (
        "dimension that no argument determines",
        "Use the dimension by itself as an extent of some tensor, or pass it as a scalar.",
    ),
    "E2012": (
        "argument is read-only",
        "The kernel writes to it. Pass a writable copy.",
    ),
    "E2013": (
        "output type unknown to the array library",
        "The library of the inputs has no dtype for an output. Return another type.",
    ),
    "E2014": (
        "no target",
        "No installed target finds its hardware here. Install tile-cpu, or name a target to "
        "compile "
        "for a device that is absent.",
    ),
    "E2015": (
        "not a target",
        'Write the target as text, "cpu -arch=x86-64-v4", as a mapping, or pass a TargetManifest.',
    ),
    "E2016": (
        "argument not aligned",
        "The address of the argument is no multiple of what the kernel's accesses take, not even "
        "of an element's size. Pass a copy of it.",
    ),
    "E2018": (
        "arguments that share memory",
        "The kernel writes to an argument that overlaps another one in part, so what it reads "
        "would depend on when it writes. Pass a copy of one. One array for two parameters of the "
        "same extents is taken: an operation in place, right where no element is read after it was "
        "written under the other name.",
    ),
    "E2030": (
        "function cannot be an operator of torch",
        "An operator needs the type of every parameter before the first call. Declare tensors with "
        "T.Tensor, give Python arguments a default or fix them: op(f, block=64).",
    ),
    "E2031": (
        "name of an operator",
        "Operators of torch are named namespace::name, each once in a process.",
    ),
    "E2032": (
        "operator writes to other arguments than it says",
        "torch relies on knowing what an operator changes. Name these tensors in `mutates`, or "
        "return new ones.",
    ),
    "E2033": (
        "operator cannot be differentiated",
        "torch differentiates operators that only return new tensors. `saves` and `gradients` name "
        "parameters, and results as out0, out1, ...",
    ),
    "E2017": (
        "no array library for the device",
        "The kernel takes no array, so nothing says which library makes its outputs, and none that "
        "is installed has memory on the kernel's device.",
    ),
}
