/* One context under three acceptance rules, as specmini/recording/contexts.py and specmini/exact/rules.py have it.
 * Its logits are pairs, the target's and the draft's, with the number of tokens that share them. */

const pairs = (logits) => logits.split(";").map((text) => {
  const [target, draft, count = 1] = text.trim().split(/\s+/).map(Number);
  return { target, draft, count };
});

/* The chance of each token; where some share a pair, of one of them. */
function softened(read, side, temperature) {
  const logits = read.map((pair) => pair[side]), first = theory.best(logits);
  if (temperature === 0) return logits.map((_, index) => Number(index === first));
  const weights = logits.map((logit) => Math.exp((logit - logits[first]) / temperature));
  const total = weights.reduce((sum, weight, index) => sum + weight * read[index].count, 0);
  return weights.map((weight) => weight / total);
}

/* What becomes of a draft at the chosen temperatures: under every rule its rate, under the chosen
 * one a row for each named token and one for all others. Accepted and recovered sum to p. */
function compared({ tokens, logits }, { rule, target_temperature: heat, draft_temperature: warmth }) {
  const read = pairs(logits), p = softened(read, "target", heat), q = softened(read, "draft", warmth);
  const favorite = theory.best(q), certain = q.map((_, index) => Number(index === favorite));
  const drafted = (name) => (name === "greedy draft" ? certain : q);
  const accepted = (name) => drafted(name).map((guess, index) => (name === "textbook" ? Math.min(p[index], guess) : p[index] * guess));
  const sum = (chances, from = 0, to = read.length) => {
    let total = 0;
    for (let index = from; index < to; index += 1) total += chances[index] * read[index].count;
    return total;
  };
  const d = drafted(rule), a = accepted(rule);
  const columns = { p, q, drafted: d, accepted: a, rejected: d.map((guess, index) => guess - a[index]), recovered: p.map((wish, index) => wish - a[index]) };
  const row = (label, from, to) => ({ label, ...Object.fromEntries(Object.entries(columns).map(([name, chances]) => [name, sum(chances, from, to)])) });
  const rows = tokens.map((token, index) => row(token, index, index + 1));
  const others = read.slice(tokens.length).reduce((count, pair) => count + pair.count, 0);
  if (others) rows.push({ ...row(null, tokens.length, read.length), others });
  const rates = Object.fromEntries(DATA.rules.map((name) => [name, sum(accepted(name))]));
  const distance = sum(p.map((wish, index) => Math.abs(wish - q[index]))) / 2;
  return { rows, rates, distance, favorite: tokens[favorite] ?? null, wanted: p[favorite] };
}
