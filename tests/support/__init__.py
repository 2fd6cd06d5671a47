"""What the tests share: counting producers and consumers, one-dunder producers, child processes.

`support.counting` is compiled on first use; the other modules are plain Python. Nothing here needs a third-party
library, and nothing here imports `lend`.
"""
