"""The ladder of drafters: each rung beside the others, by what it costs and what it earns.

``rungs`` makes the drafters ready, ``results`` holds what they measured, ``points`` puts them on
the map of acceptance against cost. ``hindsight`` replays every way of choosing K on the
same luck, and ``gate_study`` prices a gate with it.
"""
