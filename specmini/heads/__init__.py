"""Heads: drafters that read the target's features, and are trained on it.

``feature_head`` (as EAGLE's), ``medusa_heads`` and ``mtp_module`` are the modules, ``unrolled``
trains them as they are used, ``in_numpy`` and ``mtp_in_numpy`` run them with cheap calls, and
``trained`` loads those of the package's target.
"""
