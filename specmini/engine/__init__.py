"""What runs a language model token by token: one protocol, and engines that keep to it.

``cached_model`` and ``tree_model`` say what decoding asks of a model. ``torch_model`` runs
anywhere; ``numpy_model`` and ``torch_step`` make cheap calls on the ``kernels`` a machine has, and
``fast_model`` tries them all. ``step_model`` turns one step into a model. ``table_model`` is small
enough for proofs, ``uncached_model`` slow on purpose; ``threads`` keeps a clock honest.
"""
