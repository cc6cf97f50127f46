/* Parts of the drafter explorer that stand on their own: what follows from a place on the map, its
 * lines of equal speedup, and what is said about it. specmini/theory/drafter_map.py has the same. */

const UP = (cost) => Math.log10(Math.max(cost, DATA.map.cheapest));
const COSTS = Array.from({ length: 41 }, (_, step) => DATA.map.cheapest ** (1 - step / 40));
const COST_TICKS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
const LONGEST = DATA.ranges.K.high;
const EVERY_K = Array.from({ length: LONGEST + 1 }, (_, K) => K);

/* The acceptance rate at which the best of all K reaches a speedup at this cost; NaN if none does. */
function isoSpeedup(level, c, v, h) {
  const rates = EVERY_K.slice(1).map((K) => theory.acceptanceFor((level * theory.mixedCost(h, c, K, v) - 1) / h, K));
  return rates.reduce((least, rate) => (rate < least || Number.isNaN(least) ? rate : least), Number.NaN);
}

function highest(a, c, v, h) {
  const speedups = EVERY_K.map((K) => theory.mixedSpeedup(h, a, c, K, v));
  const best = theory.best(speedups);
  return { speedups, best, top: speedups[best] };
}

/* Everything the widget says, computed from one setting. */
function placed({ alpha, c, v, h: hit, K }, points) {
  const { speedups, best, top } = highest(alpha, c, v, hit);
  const away = (point) => Math.hypot(point.alpha - alpha, (UP(point.c) - UP(c)) / -UP(0));
  const order = points.map((point, index) => ({ ...point, number: index + 1, away: away(point) }));
  return {
    speedups, best, top, S: speedups[K], E: theory.mixedTokens(hit, alpha, K), r: theory.mixedCost(hit, c, K, v),
    cheaper: highest(alpha, c / 2, v, hit).top, better: highest((1 + alpha) / 2, c, v, hit).top,
    near: order.sort((one, other) => one.away - other.away).slice(0, 3),
  };
}

/* A verdict, the account of a round, which change is worth more, and who stands near. */
function placedWords({ K }, { S, E, r, best, top, cheaper, better, near }) {
  const account = K === 0 ? "Nothing is drafted." : `A round writes ${fixed(E)} tokens for ${fixed(r)} plain steps.`;
  const word = K === 0 ? "Plain decoding" : Math.abs(S - 1) < 0.005 ? "Breaks even" : S > 1 ? `Wins, ${times(S)}` : `Loses, ${times(S)}`;
  const advice = K === best ? "" : best === 0 ? " No K wins here." : ` K = ${best} would give ${times(top)}.`;
  const more = Math.abs(cheaper - better) < 0.005 ? "both are worth the same" : cheaper > better ? "the price is worth more" : "better guesses are worth more";
  return {
    word, account: account + advice,
    change: `half the price: ${times(cheaper)}; half the misses: ${times(better)}; ${more}`,
    near: near.map((point) => `${point.number} ${point.name} (${times(point.speedup)})`).join("; "),
  };
}

/* Lines change with v and h alone; the marks with every setting. */
function mapDrawing(figure, points) {
  let key = "", lines = [], labels = [];
  return (now, result, title) => {
    if (key !== `${now.v} ${now.h}`) {
      key = `${now.v} ${now.h}`;
      lines = [];
      labels = [];
      for (const level of now.h > 0 ? [1, ...DATA.map.levels] : []) {
        const line = COSTS.map((cost) => [isoSpeedup(level, cost, now.v, now.h), UP(cost)]).filter(([rate]) => !Number.isNaN(rate));
        lines.push({ class: level === 1 ? "sm-break-even" : "sm-level", points: line });
        if (line.length && level > 1) labels.push({ at: line[0], bare: true, above: "end", class: "", label: `${plain(level)}×` });
        if (line.length && level === 1) labels.push({ at: line[Math.floor(line.length * 0.86)], bare: true, above: "end", aside: -8, class: "", label: "no K wins" });
      }
    }
    const numbers = new Set(result.near.map((point) => point.number));
    const marks = points.map((point, index) => ({
      at: [point.alpha, UP(point.c)], r: 4, diamond: point.measured, class: point.measured ? "sm-measured" : "sm-known",
      label: numbers.has(index + 1) ? String(index + 1) : "",
    }));
    figure.draw({
      x: [0, 1], xTicks: [0, 0.2, 0.4, 0.6, 0.8, 1], xLabel: "acceptance rate α", y: [UP(0), 0], yTicks: COST_TICKS.map(UP),
      yText: (value) => plain(10 ** value, 2), yLabel: "cost of a draft, plain steps", title, lines,
      marks: [...labels, ...marks, { at: [now.alpha, UP(now.c)], r: 8, class: "sm-full", label: `you ${times(result.S)}`, below: now.alpha > 0.7 ? "end" : "start" }],
    });
  };
}
