"""Speculation under load: requests arrive, wait, are batched, and leave; simulated pass by pass.

The batch chapter's formulas hold a batch still. On a server the batch is what arrivals and service
make of it, and speculation changes the service. Nothing here models a pass anew: its seconds come
from a ``specmini.roofline.deployment.Deployment``.

    workload   when requests come, how long they are, how well their text can be guessed
    seconds    the time of every pass that can occur, computed once
    policy     how far to draft in a round: not at all, always K, or what pays at this load
    server     the simulation: admit, read prompts, play rounds
    service    what the requests saw: latencies, throughput
    sweep      the same at many arrival rates
"""
