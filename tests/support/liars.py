"""Subclasses of torch's tensors that answer in its place, by `__torch_function__`."""

import torch


def answering(**answers):
    """A class whose tensors answer so when they are asked by a method or an attribute of that name."""

    class Answering(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            name = getattr(function, "__name__", "")
            if name == "__get__":
                name = function.__self__.__name__
            if name in answers:
                return answers[name]
            return super().__torch_function__(function, types, args, kwargs or {})

    return Answering
