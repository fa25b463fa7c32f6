"""One module per library: trains, predicts, and says how long it took and what memory it needed.

Each runs in a process of its own, in the library's own environment, so it imports nothing but that
library, numpy and scipy. Settings are XR-Linear's: squared hinge, cost 1, bias 1,
weights up to 0.1 dropped, beam 10, the 5 best labels.
"""
