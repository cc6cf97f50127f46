/* The closed forms that move with a slider; specmini/theory/formula.py is where they are derived, and a
 * test compares the two on a grid. a: acceptance rate, c: cost ratio, K: draft length,
 * v: verify cost. K = 0 is plain decoding, where nothing is verified. */

const theory = {
  /* E - 1 = a (1 - a^K) / (1 - a), through expm1 so that neither end of [0, 1] loses digits. */
  acceptedDrafts(a, K) {
    if (a === 1) return K;
    if (K === 1) return a;
    return a === 0 || K === 0 ? 0 : (-a * Math.expm1(K * Math.log1p(a - 1))) / (1 - a);
  },
  tokensPerRound: (a, K) => 1 + theory.acceptedDrafts(a, K),
  roundCost: (c, K, v) => K * c + v,
  speedup: (a, c, K, v) => theory.tokensPerRound(a, K) / theory.roundCost(c, K, v),
  /* The same with a share h of rounds that have a draft; the others are plain steps. */
  mixedTokens: (h, a, K) => 1 + h * theory.acceptedDrafts(a, K),
  mixedCost: (h, c, K, v) => (K === 0 ? 1 : h * (K * c + v) + (1 - h)),
  mixedSpeedup: (h, a, c, K, v) => theory.mixedTokens(h, a, K) / theory.mixedCost(h, c, K, v),
  /* The acceptance rate at which so many of K drafts are accepted; NaN if there are too few. */
  acceptanceFor(accepted, K) {
    if (accepted <= 0) return 0;
    if (!(accepted <= K)) return Number.NaN;
    let low = 0, high = 1;
    for (let middle = 0.5; middle > low && middle < high; middle = low + (high - low) / 2) {
      if (theory.acceptedDrafts(middle, K) < accepted) low = middle;
      else high = middle;
    }
    return high;
  },
  /* The smallest acceptance rate at which a round earns what it costs; NaN if none does. */
  breakEvenAcceptance: (c, K, v) => theory.acceptanceFor(K * c + (v - 1), K),
  /* Index of the largest value; of equal ones the first, since a shorter draft is simpler. */
  best: (values) => values.reduce((top, value, index) => (value > values[top] ? index : top), 0),
};
