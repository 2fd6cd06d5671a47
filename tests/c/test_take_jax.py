"""Arrays of jax: as lend.view says them, by the buffer slot or by DLPack."""

import pytest

import lend

jax = pytest.importorskip("jax")
jnp = jax.numpy

DTYPES = ["bool_", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "bfloat16", "complex64"]


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_is_taken(taker, same, name):
    source = jnp.ones((2, 3), getattr(jnp, name))
    same(taker(source), lend.view(source))


@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (2, 1, 3)], ids=str)
def test_every_shape_is_taken(taker, same, shape):
    source = jnp.zeros(shape, "float32")
    same(taker(source), lend.view(source))


def test_an_array_is_read_only_and_may_be_copied(taker):
    source = jnp.arange(3, dtype="int32")
    with pytest.raises(BufferError, match="writable memory was required"):
        taker(source, flags=256)
    copied = taker(source, flags=256 | 2048)
    assert copied.tobytes() == bytes(memoryview(source))
    assert not copied.readonly


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float32"])
def test_no_array_is_given_for_writing(taker, name):
    source = jnp.ones(3, getattr(jnp, name))
    with pytest.raises(BufferError, match="writable memory was required"):
        taker(source, flags=256)
    assert taker(source).readonly


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_an_eight_bit_float_is_taken(taker, name):
    taken = taker(jnp.ones(3, getattr(jnp, name)))
    assert (taken.code, taken.itemsize) == ({"float8_e4m3fn": 10, "float8_e5m2": 12}[name], 1)


def test_a_deleted_array_is_refused(taker):
    source = jnp.zeros(3)
    source.delete()
    with pytest.raises(BufferError, match="ArrayImpl: it refused"):
        taker(source)


def test_a_traced_array_is_refused(taker):
    def traced(values):
        with pytest.raises((BufferError, TypeError)):
            taker(values)
        return values

    assert jax.jit(traced)(jnp.zeros(3)).shape == (3,)


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_half_bytes_are_refused(taker, name):
    with pytest.raises(BufferError, match=r"jax"):
        taker(jnp.ones(4, getattr(jnp, name)))
