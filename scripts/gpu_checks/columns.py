"""Columns and tables: there and back, late work, buffers on several devices, members as pylibcudf's."""

from array import array

from gpu_checks import NOT_FOR_THE_HOST, check, refused
from gpu_checks.driver import SIZE, Memory

MANY = 3000


def made_here():
    """A column of each layout that goes buffer by buffer."""
    import lend

    ends = array("i", [0])
    for i in range(MANY):
        ends.append(ends[-1] + i % 5)
    text, numbers = bytes(97 + i % 26 for i in range(ends[-1])), array("q", range(ends[-1]))
    bits = bytes(0b10110101 for _ in range(MANY // 8 + 1))
    inner = lend.Column.from_buffers("int64", len(numbers), {"data": numbers})
    lists = lend.DType.from_arrow("+l", fields=[("item", lend.DType("int64"))])
    buffers = {"data": array("d", range(MANY)), "validity": bits}
    return {
        "numbers with nulls": lend.Column.from_buffers("float64", MANY, buffers),
        "bits": lend.Column.from_buffers("bool_packed", MANY, {"data": bits}),
        "text with nulls": lend.Column.from_buffers("utf8", MANY, {"offsets": ends, "data": text, "validity": bits}),
        "lists": lend.Column.from_buffers(lists, MANY, {"offsets": ends}, children=[inner]),
    }


def same(column, values):
    return "right" if column.tolist() == values else "wrong"


@check("columns", "there and back")
def there_and_back(gpu, say):
    import lend

    columns = made_here()
    for name, column in columns.items():
        there = lend.to(column, device="cuda:0")
        values = column.tolist()
        say(f"{name}: its device", ["cuda:0"], str(there.device))
        say(f"{name}: to the host", ["right"], same(lend.to(there, device="cpu"), values))
        say(f"{name}: a part", ["right"], same(lend.to(there[13:777], device="cpu"), values[13:777]))
        say(f"{name}: compact on the device", ["right"], same(lend.to(there[5:].compact(), device="cpu"), values[5:]))
        say(f"{name}: a copy that nobody named", [NOT_FOR_THE_HOST], refused(there.tolist))
        plan = lend.explain(there, device="cpu")
        with lend.copies() as log:
            lend.to(there, device="cpu")
        if plan.bytes_copied is not None:
            say(f"{name}: the bytes of the plan", [str(log.bytes)], str(plan.bytes_copied))
    table = lend.table(columns).to(device="cuda:0").to(device="cpu")
    wanted = {name: column.tolist() for name, column in columns.items()}
    got = {column.name: column.tolist() for column in table.columns}
    say("a table", ["right"], "right" if got == wanted else "wrong")


@check("columns", "late work")
def late_work(gpu, say):
    import lend

    for kind, device in (("device", "cpu"), ("managed", None)):
        memory, mask = Memory(gpu, kind), Memory(gpu, kind)
        bits = mask.later()[: SIZE // 8]
        data = memory.later()
        column = lend.Column.from_buffers("uint8", SIZE, {"data": memory.told(), "validity": mask.told()})
        values = [data[i] if bits[i >> 3] >> (i & 7) & 1 else None for i in range(SIZE)]
        here = column if device is None else lend.to(column, device=device)
        say(f"{kind} memory that is written", ["right"], same(here, values))


@check("columns", "several devices")
def several_devices(gpu, say):
    import lend

    memory = Memory(gpu)
    data = memory.later()
    column = lend.Column.from_buffers("uint8", 8, {"data": memory.told(), "validity": bytes([0b01111111])})
    say("data on the device, its nulls on the host", ["refused: UnsupportedLayout"], refused(lambda: column.device))
    say("brought to the host", ["right"], same(lend.to(column, device="cpu"), [*data[:7], None]))
    say("sent to the device", ["cuda:0"], str(lend.to(column, device="cuda:0").device))


class Members:
    """A column of numbers that shows its buffers as pylibcudf's do: methods."""

    def __init__(self, memory, mask):
        self.memory, self.mask = memory, mask

    def type(self):
        return self

    def id(self):
        return 5  # uint8

    def scale(self):
        return 0

    def size(self):
        return 16

    def offset(self):
        return 0

    def null_count(self):
        return 8

    def data(self):
        return self.memory.told()

    def null_mask(self):
        return self.mask.told(size=64)

    def children(self):
        return []


@check("columns", "members as pylibcudf's")
def members(gpu, say):
    import lend

    memory, mask = Memory(gpu), Memory(gpu)
    for _ in range(15):  # until four of eight bits are set
        bits = mask.later()
    data = memory.later()
    column = lend.column(Members(memory, mask))
    values = [data[i] if bits[i >> 3] >> (i & 7) & 1 else None for i in range(16)]
    say("the count of nulls", ["8"], str(column.null_count))
    say("to the host", ["right"], same(lend.to(column, device="cpu"), values))
