"""The block of a launch's arguments: places as in C, fixed ones behind, one block a thread."""

import ctypes
import struct
import threading

from tile_passes.launch.arguments import (
    Layout,
    ThreadArguments,
    launch_refused,
    too_many_blocks,
)


def test_arguments_lie_as_in_c():
    layout = Layout("?iPbhdf")
    assert layout.offsets == (0, 4, 8, 16, 18, 24, 32)
    assert layout.size == struct.calcsize("@?iPbhdf") == 36


def test_arguments_that_are_always_the_same_lie_behind_the_others():
    layout = Layout(["i", "P", "i", "128s", "P"], {0: 5, 2: 6})
    assert layout.offsets == (144, 0, 148, 8, 136)
    assert (layout.packer.size, layout.size) == (144, 152)
    assert layout.fixed == ((144, "@i", 5), (148, "@i", 6))


def test_each_thread_has_a_block_that_begins_once():
    begun = []
    layout = Layout("iq", {0: 7})
    arguments = ThreadArguments(layout, lambda: begun.append(threading.get_ident()))
    memory, pointers = arguments.block
    layout.packer.pack_into(memory, 0, 9)
    first, second = ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p))[:2]
    assert ctypes.c_int.from_address(first).value == 7
    assert ctypes.c_int64.from_address(second).value == 9
    blocks = []
    thread = threading.Thread(target=lambda: blocks.extend([arguments.block, arguments.block]))
    thread.start()
    thread.join()
    assert blocks[0] is blocks[1]
    assert blocks[0][1] != pointers
    assert begun == [threading.get_ident(), thread.ident]


def test_what_a_driver_refuses_is_told_with_a_way_out():
    many = too_many_blocks(1 << 40, "a grid has at most 65535")
    assert (many.code, many.notes) == ("E3011", ("a grid has at most 65535",))
    said = launch_refused(RuntimeError("bad address"), "ONE_BY_ONE=1")
    assert (said.code, said.message) == ("E3009", "the driver refused the launch: bad address")
    assert "run with ONE_BY_ONE=1 to see which" in said.help
