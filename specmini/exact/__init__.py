"""What a rule does, without a clock or a coin: sums over all that can happen.

::

    audit        a rule tried on every draft and every random number
    overlap      the acceptance rate at every context of given texts, under each of the three rules
    rule_yield   what a round yields token by token, and as a block
    siblings     how far a second guess for the same place helps
    blind_guess  how well one can guess a token without the one before it
    lossy_price  what a lossy rule costs and buys
"""
