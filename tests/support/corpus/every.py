"""All tables of the corpus."""

from . import answers, buffers, interfaces, requests, structs, tensors, words

TABLES = [
    *tensors.TABLES,
    *answers.TABLES,
    *buffers.TABLES,
    *interfaces.TABLES,
    *structs.TABLES,
    *words.TABLES,
    *requests.TABLES,
]
