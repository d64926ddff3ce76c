"""Codes of mistakes in layouts: their text, their digits, and operations that have no result."""

CODES: dict[str, tuple[str, str]] = {
    "E0301": (
        "text is no layout",
        "A layout is a list of axes with digits, fastest first: `m (64:64) k (64:1) "
        "swizzle<3,4,3>` for a buffer, `thread (4:n*2, 8:m*1) value (2:n*1)` for a fragment, "
        "`map m 2 n 4 -> offset 8 [0+8]` for a table.",
    ),
    "E0302": (
        "digit that cannot be",
        "A digit has an extent of at least 1 and a stride of at least 0 along one axis; a digit "
        "that moves nowhere is written `extent:-`.",
    ),
    "E0303": (
        "swizzle that cannot be",
        "swizzle<bits,base,shift> needs 1 <= bits <= shift and base >= 0, and elements that "
        "fill its chunks of 2^base bytes without a rest.",
    ),
    "E0304": (
        "axes do not fit the layout",
        "An axis is missing, doubled, reserved, or of another number than the layout has. The "
        "message names it; `rename` and `transpose` bring axes in line.",
    ),
    "E0305": (
        "swizzled layout without an element width",
        "A swizzle exchanges bytes, so the width of an element is needed to say where one lies.",
    ),
    "E0306": (
        "point outside a layout's table",
        "A layout that is held as a table is defined inside its box only.",
    ),
    "E0307": (
        "layouts cannot follow one another",
        "The inner layout must give exactly the axes that the outer one takes, and only the "
        "outer one may be swizzled.",
    ),
    "E0308": (
        "layout without an inverse",
        "Two points share one result, or the layout is swizzled. Only layouts that give every "
        "point a place of its own can be inverted.",
    ),
    "E0309": (
        "layout too large for a table",
        "Digits could not express the layout and a table of more than 65536 places is not "
        "built. Use extents and strides that divide each other, or a smaller tile.",
    ),
    "E0310": (
        "table does not fit its shapes",
        "A table has one entry for each input point: the number of the output point in its box, "
        "or -1.",
    ),
    "E0311": (
        "layout without a complement",
        "The results overlap, or the gaps between them are not whole copies of what is there.",
    ),
    "E0312": (
        "cut inside a digit",
        "A part of a tile has digits of its own only where the cut divides the digit that it "
        "falls into.",
    ),
    "E0313": (
        "tile without elements",
        "Extents, panel widths, thread counts and vectors are at least 1, with one axis for "
        "each dimension.",
    ),
    "E0314": (
        "index function of a layout gave no place",
        "The function is called with every coordinate and returns a non-negative integer, or a "
        "tuple of them that always has the same length (two, thread and value, for a fragment).",
    ),
    "E0315": (
        "layout puts two elements in one place",
        "Every element needs a place of its own, or one of them would be lost.",
    ),
    "E0316": (
        "access that the bank model cannot count",
        "Banks and their width are at least 1, and the vector divides the values of a thread.",
    ),
}
