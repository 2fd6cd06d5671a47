"""Several threads at one thing: all from the same moment, in small steps."""

import contextlib
import sys
import threading


@contextlib.contextmanager
def small_steps():
    """The interpreter switches threads all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def go(workers):
    """Run every worker on a thread of its own, all from the same moment; raise the first error of any."""
    barrier, errors = threading.Barrier(len(workers)), []

    def run(work):
        barrier.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def takers(take, refusal, number=4):
    """What those of several threads got who were not refused."""
    won = []

    def work():
        with contextlib.suppress(refusal):
            won.append(take())

    go([work] * number)
    return won
