"""jax arrays that cannot be lent: what is said, and that the remedy works."""

import subprocess
import sys

import pytest

import lend
from lend.errors import LeaseLost, NotLendable, ReadOnlyMemory, UnsupportedType

jax = pytest.importorskip("jax")


@pytest.mark.parametrize(
    ("dtype", "remedies"),
    [
        ("int4", ['x.astype("int8")']),
        ("uint4", ['x.astype("uint8")']),
        ("float4_e2m1fn", ['x.astype("float32")']),
    ],
)
def test_a_dtype_that_jax_cannot_say_is_refused_with_a_remedy_that_works(dtype, remedies):
    x = jax.numpy.ones(4, dtype=dtype)
    with pytest.raises(UnsupportedType, match=f"jax lends no memory of {dtype} arrays") as refused:
        lend.view(x)
    for remedy in remedies:
        assert remedy in refused.value.remedy
        assert lend.view(eval(remedy, {"x": x})).shape == (4,)


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4_e2m1fn"])
@pytest.mark.parametrize("copy", [None, True, False])
def test_a_dtype_that_jax_does_not_take_by_dlpack_is_refused_with_a_remedy_that_works(dtype, copy):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy = pytest.importorskip("numpy")
    x = numpy.ones(4, getattr(ml_dtypes, dtype))
    with pytest.raises(UnsupportedType, match=f"jax takes no {dtype} by DLPack") as refused:
        lend.to(x, "jax", copy=copy)
    remedy, _, _ = refused.value.remedy.rpartition(", which copies")
    made = eval(remedy, {"x": x, "jax": jax, "lend": lend})
    assert (str(made.dtype), made.tolist()) == (dtype, [1, 1, 1, 1])


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float32"])
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_no_word_of_the_caller_makes_an_array_writable(take, dtype):
    x = jax.numpy.ones(4, dtype=dtype)
    with pytest.raises(ReadOnlyMemory, match=r"(?s)jax.*read-only.*copy=True"):
        take(x, writable=True)
    assert take(x).readonly
    assert not take(x, copy=True, writable=True).readonly


def test_a_random_key_is_refused_naming_its_data():
    x = jax.random.key(0)
    with pytest.raises(UnsupportedType, match=r"keys of jax\.random .*(?s:.*)jax\.random\.key_data\(x\)"):
        lend.view(x)
    assert str(lend.view(jax.random.key_data(x)).dtype) == "uint32"


def test_a_deleted_array_is_a_lost_lease():
    x = jax.numpy.ones(3)
    x.delete()
    with pytest.raises(LeaseLost, match=r"this jax\.Array was deleted"):
        lend.view(x)


def test_a_traced_array_is_refused_as_no_array_yet():
    def traced(x):
        with pytest.raises(NotLendable, match="jax is tracing a function"):
            lend.view(x)
        return x

    jax.jit(traced)(jax.numpy.ones(3))


SHARDED = """
import jax, lend
from jax.sharding import NamedSharding, PartitionSpec
mesh = jax.make_mesh((2,), ("x",))
x = jax.device_put(jax.numpy.arange(8.0), NamedSharding(mesh, PartitionSpec("x")))
try:
    lend.view(x)
except lend.errors.UnsupportedLayout as error:
    print(error.fact)
    for remedy in ("[lend.view(shard.data) for shard in x.addressable_shards]",
                   "jax.device_put(x, jax.local_devices()[0])"):
        assert remedy in error.remedy, error.remedy
print([view.tolist() for view in [lend.view(shard.data) for shard in x.addressable_shards]])
print(lend.view(jax.device_put(x, jax.local_devices()[0])).shape)
"""


def test_an_array_on_several_devices_is_refused_with_remedies_that_work():
    from os import environ

    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SHARDED],
        capture_output=True,
        text=True,
        check=True,
        env={**environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"},
    )
    assert run.stdout.splitlines() == [
        "this jax.Array lies on 2 devices: a View is of one block of memory",
        "[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]",
        "(8,)",
    ]
