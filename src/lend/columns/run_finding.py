"""What a column needs to become one run of elements: found by its dtype, at whatever depth the elements lie."""

from array import array
from functools import partial

from lend._core import kernels
from lend.columns import forms, inside
from lend.columns import run_refusals as refused
from lend.columns.anatomy import Anatomy, layout_of, stored_as
from lend.columns.run_elements import BLOCK, NAN, fixed
from lend.columns.runs import BESIDE, Run, Wish, put
from lend.columns.scalars import base
from lend.dtypes.dtype import DType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.columns.column import Column


def run_of(column: "Column", wish: Wish) -> Run:
    """The elements of a column, as one run."""
    full = [part for part in column.chunks if len(part)]
    run = _run(full, column.dtype, wish, column)
    told = column.dtype.extension
    if told is not None:
        run.notes.append(f"the name of the extension type {told[0]!r} is lost: these are what it is stored as")
    return run


def _run(parts: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """The same of non-empty chunks of one type; `whole` is who is named in messages."""
    layout = layout_of(dtype)
    if dtype.dictionary is not None:
        if not wish.storage:
            raise refused.dictionary(whole, wish)
        _check_one_dictionary(parts, whole, wish)
        return fixed(parts, stored_as(dtype), wish, whole)
    kind = base(dtype).kind
    if layout in ("fixed list", "list"):
        return _lists(parts, dtype, wish, whole)
    if layout == "struct" and wish.numpy:
        return _records(parts, dtype, wish, whole)
    if layout == "bits":
        return fixed(parts, DType("bool"), wish, whole)
    if layout == "null" and wish.nulls == "nan":
        return _only_nan(whole)
    if layout != "fixed" or kind in ("decimal", "interval"):
        raise refused.no_array(whole, dtype, wish)
    if kind in ("datetime", "timedelta", "date", "time"):
        return _times(parts, dtype, wish, whole)
    stored = stored_as(dtype)
    if stored.kind == "opaque" and wish.numpy and stored.itemsize and all(_by_arrow(part) for part in parts):
        run = fixed(parts, DType(f"bytes[{stored.itemsize}]"), wish, whole)
        run.notes.append("NumPy does not show NUL bytes at the end of fixed bytes; they are there")
        return run
    return fixed(parts, stored, wish, whole)


def _only_nan(whole: "Column") -> Run:
    """Of nulls alone: NaN throughout."""
    run, n = Run(whole, DType("float64"), (len(whole),)), len(whole)
    run.nbytes, run.reasons = 8 * n, ["NaN under nulls"]
    run.pieces = [(8 * n, lambda to: kernels.gather(to, 8, NAN, 0, 8, 1, n))]  # type: ignore[arg-type]
    return run


def _by_arrow(column: "Column") -> bool:
    """Whether fixed bytes came as Arrow has them, and not as opaque elements of an array."""
    owner = column.owner
    return bool(getattr(owner, "kind", None) == "arrow")


def _check_one_dictionary(parts: "list[Column]", whole: "Column", wish: Wish) -> None:
    """Indices into one dictionary are no indices into another."""
    from lend.columns.joining import same_values

    first = parts[0].dictionary if parts else None
    for part in parts[1:]:
        words = part.dictionary
        assert first is not None
        assert words is not None
        if not same_values(first, words):
            raise refused.dictionaries_differ(whole, wish)


# -- times -------------------------------------------------------------------------------------------------------------


def _times(parts: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Dates, times and durations: NumPy's where it has them, or the numbers that are stored."""
    plain = base(dtype)
    if wish.storage:
        return fixed(parts, _numbers_of(dtype), wish, whole)
    if not wish.numpy or plain.kind == "time":
        raise refused.times(whole, dtype, wish)
    zone = getattr(plain, "zone", None)
    if zone is not None and not wish.drops_zone:
        raise refused.zone(whole, zone, wish)
    if plain.kind == "date":
        return fixed(parts, DType("datetime64[D]" if plain.unit == "D" else "datetime64[ms]"), wish, whole)
    run = fixed(parts, plain if zone is None else DType(f"datetime64[{plain.unit}]"), wish, whole)
    if zone:
        run.notes.append(f"the time zone {zone!r} is dropped: the times are those of UTC")
    return run


def _numbers_of(dtype: DType) -> DType:
    """The integers that times are stored as, in the byte order that they have."""
    numbers = DType(f"int{8 * int(dtype.itemsize)}")
    return numbers if dtype.is_native else numbers.newbyteorder("swap")


# -- lists of one length, records --------------------------------------------------------------------------------------


def _lists(columns: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Lists of one length, as rows of an array: the elements are one run, wherever the lists are."""
    lists = [Anatomy(column) for column in columns]
    lost = sum(forms.null_count(parts) for parts in lists)
    if lost:
        raise refused.has_null_rows(whole, lost, wish)
    n = sum(parts.n for parts in lists)
    length = int(base(dtype).length or 0) if layout_of(dtype) == "fixed list" else _one_length(lists, whole, wish)
    children = [inside.elements(column)[0] for column in columns]
    run = _run([child for child in children if len(child)], inside.inner(dtype), wish, whole)
    run.shape = (n, length, *run.shape[1:])
    if run.view is not None:
        run.view = run.view.reshape(run.shape)
    return run


def _one_length(lists: "list[Anatomy]", whole: "Column", wish: Wish) -> int:
    """The length of all lists; refused where they have several."""
    spans = [inside.span(parts) for parts in lists]
    if not lists:
        return 0
    length = (spans[0][1] - spans[0][0]) // lists[0].n
    for parts, (start, stop) in zip(lists, spans, strict=True):
        if stop - start != length * parts.n or not _evenly(parts, start, length):
            raise refused.uneven(whole, wish)
    return length


def _evenly(parts: Anatomy, start: int, length: int) -> bool:
    """Whether the offsets of a chunk are `length` apart."""
    from lend.views.view import View

    code, count = ("i" if parts.width == 4 else "q"), parts.n + 1
    for at in range(0, count, BLOCK):
        n = min(BLOCK, count - at)
        told = View.from_pointer(parts.at(0) + at * parts.width, n * parts.width, "uint8", owner=parts.held)
        first = start + at * length
        expected = array(code, range(first, first + n * length, length)) if length else array(code, [first]) * n
        if bytes(told) != expected.tobytes():
            return False
    return True


def _records(columns: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Structs as records, whose fields lie side by side: always a copy."""
    structs = [Anatomy(column) for column in columns]
    lost = sum(forms.null_count(parts) for parts in structs)
    if lost and wish.nulls is not BESIDE:
        raise refused.has_null_rows(whole, lost, wish)
    names, runs = [], []
    inner, plain = [inside.fields(column) for column in columns], base(dtype)
    for i, (name, kind) in enumerate(plain.children):
        fields = [rows[i] for rows in inner]
        if layout_of(kind) in ("text", "views"):
            raise refused.no_array(fields[0] if fields else whole, kind, wish, inside=True)
        run = _run(fields, kind, wish, fields[0] if fields else whole)
        if run.dtype.has_objects or run.dtype.shares_bytes:
            raise refused.no_array(whole, kind, wish)
        names.append(name)
        runs.append(run)
    if not names or len(set(names)) != len(names) or not all(names):
        raise refused.no_record(whole, names, wish)
    record = DType(
        [
            (name, run.dtype.newbyteorder("native"), *([run.shape[1:]] if run.shape[1:] else []))
            for name, run in zip(names, runs, strict=True)
        ]
    )
    made = Run(whole, record, (sum(parts.n for parts in structs),))
    made.reasons = ["fields side by side"] if columns else []
    made.nbytes = made.shape[0] * int(record.itemsize)
    made.pieces = [(made.nbytes, partial(_interleave, runs, int(record.itemsize)))]
    made.notes = [note for run in runs for note in run.notes]
    return made


def _interleave(runs: "list[Run]", step: int, to: int) -> None:
    for run in runs:
        width = int(run.dtype.itemsize)
        for extent in run.shape[1:]:
            width *= extent
        n = run.shape[0]
        if run.view is not None and run.view.ndim == 1:
            put(run.view, to, step)
        elif n and width:
            room = values.fresh(n * width)
            run.write(room.ptr)
            kernels.gather(to, step, room.ptr, width, width, 1, n)
        to += width
