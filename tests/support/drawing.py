"""Steps of a state machine whose choices are data: drawn by Hypothesis, or by a plain random generator.

`@step(which=range(10), how=["T", "flat"])` says what a method may be called with. Whatever is drawn makes sense at any
time (a number is taken modulo what there is), so that steps may be left out of a run and the rest still be played.
"""

import random

BOOL = [False, True]


class Index:
    """Basic indices: one to three of integers, slices and None."""

    def draw(self, source):
        return tuple(self.entry(source) for _ in range(source.randint(1, 3)))

    def entry(self, source):
        kind = source.randrange(8)
        if kind < 3:
            return source.randint(-4, 3)
        if kind == 3:
            return None
        return slice(self.end(source), self.end(source), source.choice([None, 1, 2, -1]))

    def end(self, source):
        return source.randint(-5, 5) if source.random() < 0.7 else None

    def strategy(self, st):
        ends = st.none() | st.integers(-5, 5)
        entries = st.integers(-4, 3) | st.none() | st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, -1]))
        return st.lists(entries, min_size=1, max_size=3).map(tuple)


def step(*, room=False, weight=2, **choices):
    """Mark a method as a step; one that needs `room` makes something new to hold."""

    def mark(method):
        method.choices, method.room, method.weight = choices, room, weight
        return method

    return mark


def steps_of(machine):
    """The steps of a class by name, in the order of their names."""
    found = {name: getattr(machine, name) for name in sorted(dir(machine))}
    return {name: method for name, method in found.items() if hasattr(method, "choices")}


def drawn(method, source):
    """Arguments for one call."""
    return {
        name: choice.draw(source) if isinstance(choice, Index) else source.choice(choice)
        for name, choice in method.choices.items()
    }


def strategies(method, st):
    """The same as Hypothesis has it."""
    made = {}
    for name, choice in method.choices.items():
        if isinstance(choice, Index):
            made[name] = choice.strategy(st)
        elif isinstance(choice, range):
            made[name] = st.integers(choice.start, choice.stop - 1)
        else:
            made[name] = st.booleans() if choice is BOOL else st.sampled_from(choice)
    return made


class Drawing:
    """An endless run of steps: the same for the same seed, on any machine."""

    def __init__(self, machine, seed):
        self.source = random.Random(seed)
        self.steps = steps_of(machine)
        self.names = [name for name, method in self.steps.items() for _ in range(method.weight)]

    def __next__(self):
        name = self.source.choice(self.names)
        return name, drawn(self.steps[name], self.source)
