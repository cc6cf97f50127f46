"""Many sequences at once: the lab's side of the batch argument.

In reading order::

    model        what the engine asks of a model with several memories; side_by_side is the plainest
    attention    new positions of many sequences against caches of different lengths
    steps        forward passes over many sequences; fast finds the best ones of this machine
    drafter      the draft model, batched; head_drafter does it with heads, gate decides how far
    serving      continuous and static batching, with a record of every round
    tree_serving the same with a tree for each sequence, grown by tree_drafter
    turns        plain and speculative serving side by side, in turns
    latency      a pass by itself, and forecasts
    calibration  the constants of the roofline for the computer at hand
"""
