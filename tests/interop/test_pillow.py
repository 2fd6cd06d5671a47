"""Pillow: an image lends its bytes by what it offers, and is never iterated; nothing is narrowed for it (DTYPE-14)."""

import pytest

import lend

np = pytest.importorskip("numpy")
image = pytest.importorskip("PIL.Image")


def test_an_image_is_made_of_a_view_of_an_array():
    pixels = np.arange(24, dtype="u1").reshape(2, 4, 3)
    made = lend.to(pixels, image.fromarray)
    assert (made.size, made.getpixel((1, 0))) == ((4, 2), (3, 4, 5))


def test_the_plan_of_a_callable_says_that_it_may_copy():
    plan = lend.explain(np.zeros((2, 4, 3), "u1"), image.fromarray)
    assert (plan.target, plan.bytes_copied) == ("PIL.Image.fromarray", None)


def test_what_an_image_will_write_is_told_as_read_only():
    assert lend.explain(image.new("RGB", (3, 2)), "numpy").source == (
        "uint8[2, 3, 3] on cpu, read-only, lent by PIL.Image.Image"
    )


def test_the_pixels_of_an_image_are_lent_by_an_image():
    made = lend.to(image.new("L", (3, 2)), "numpy")
    [loan] = [loan for loan in lend.loans() if loan.ptr == made.ctypes.data]
    assert loan.producer_type == "PIL.Image.Image"
    assert not made.flags.writeable


@pytest.mark.parametrize("dtype", ["f8", "u4", "i8", "u1"])
@pytest.mark.parametrize("name", ["pillow", "PIL", "PIL.Image"])
def test_dtype_14_no_target_chooses_a_mode_that_would_narrow(name, dtype):
    with pytest.raises(ValueError, match=r"names no target; a function of it is one: .*PIL\.Image\.fromarray"):
        lend.to(np.zeros((2, 3), dtype), name)


def test_dtype_14_a_function_of_pillow_sees_the_dtype_as_it_is():
    seen = []
    lend.to(np.zeros((2, 3), "f8"), lambda view: seen.append(view.__array_interface__["typestr"]))
    assert seen == [np.dtype("f8").str]


MODES = {"1": "bool", "L": "uint8", "I": "int32", "F": "float32", "I;16": "<uint16", "I;16B": ">uint16"}


@pytest.mark.parametrize(("mode", "dtype"), MODES.items(), ids=MODES)
def test_dtype_14_the_pixels_of_an_image_have_the_dtype_of_its_mode(mode, dtype):
    view = lend.view(image.new(mode, (3, 2), 1), copy=True)
    assert (view.shape, view.dtype, view[0, 0].item()) == ((2, 3), lend.DType(dtype), 1)
