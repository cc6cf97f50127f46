"""Is your engine lossless? Its texts with and without speculation, compared.

``specmini.exact.audit`` tries a verification *rule* on everything that can happen, exactly. Here an
*engine* is taken as it is, a server included: it writes the same prompt's continuation many times
over with speculation and without, and the two samples are compared token by token.

    comparison  samples two engines within a budget and says what was found
    engine      what an engine must do; our own loops as engines
    counts      the statistics: counts at each place, random deals, Holm's correction
    power       how small a difference a sample would have shown
    endpoint    a server on the reader's own host as an engine
    faulty      a fault of a real engine, to see what a catch looks like
"""
