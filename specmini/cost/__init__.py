"""What a round costs, in plain steps: from data sheets, or from measured plain times.

``round_cost`` reads data sheets and one measured term; ``calibrated`` starts from time per token
without speculation, through the ``plain_curve`` of one pass against its tokens.
"""
