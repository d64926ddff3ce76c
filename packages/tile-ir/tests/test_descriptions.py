"""A target's folder of descriptions: which there are, in what order, and one by name."""

import pytest

from tile_ir.descriptions import Descriptions
from tile_ir.diag import TileError
from tile_ir.testing.by_path import module_at

TEXT = "name: t\narch: {}\nfamily: gpu\n"


@pytest.fixture
def folder(tmp_path):
    for arch in ("v10", "v9"):
        (tmp_path / f"{arch}.yaml").write_text(TEXT.format(arch))
    (tmp_path / "README.md").write_text("no description")
    return tmp_path


def test_names_are_in_the_order_that_the_target_gives(folder):
    assert Descriptions(folder=folder, device="GPU").names() == ("v10", "v9")
    by_number = Descriptions(folder=folder, device="GPU", order=lambda name: int(name[1:]))
    assert by_number.names() == ("v9", "v10")
    assert by_number.load("v9").arch == "v9"


def test_a_name_without_a_description_is_told_with_those_that_have_one(folder):
    with pytest.raises(TileError, match="no NPU is called 'v11'") as caught:
        Descriptions(folder=folder, device="NPU").load("v11")
    assert caught.value.code == "E0916"
    assert caught.value.help == "described are v10, v9"


def test_a_module_by_its_path_is_new_each_time(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text("made = []\n")
    first, second = module_at(path), module_at(path)
    assert first.__name__ == "kernels"
    assert first.made == second.made == []
    assert first.made is not second.made
    with pytest.raises(FileNotFoundError):
        module_at(tmp_path / "absent.py")
