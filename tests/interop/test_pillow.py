"""Pillow: an image lends its bytes by what it offers, and is never iterated."""

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
