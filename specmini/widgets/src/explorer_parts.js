/* Parts of the speedup explorer that stand on their own: its curve, and the formula with numbers in
 * it. */

function drawCurve(figure, { K }, { lengths, speedups, free, best, differs }, title) {
  const highest = Math.max(...speedups, ...(differs ? free : []), 1.5);
  const yTicks = ticks(highest * 1.08);
  const label = (length) => `K = ${length}: ${times(speedups[length])}`;
  const marks = K === best ? [{ at: [K, speedups[K]], class: "sm-best", diamond: true, label: label(K) + ", the best" }]
    : [{ at: [best, speedups[best]], class: "sm-best", diamond: true, label: `best ${label(best)}` },
      { at: [K, speedups[K]], class: "sm-full", label: label(K), below: K < best ? "start" : K < 4 ? "middle" : "end" }];
  figure.draw({
    x: [0, lengths.at(-1)], xTicks: lengths, xLabel: "draft length K", y: [0, yTicks.at(-1)], yTicks,
    yText: (value) => plain(value) + "×", yLabel: "speedup", band: { to: 1, label: SLOW }, marks, title,
    lines: [
      ...(differs ? [{ class: "sm-free", points: lengths.map((length) => [length, free[length]]) }] : []),
      { class: "sm-full", dots: true, points: lengths.map((length) => [length, speedups[length]]) },
    ],
  });
}

function explain(terms, { alpha, c, K, batch }, { E, r, v, S, best, speedups, lengths, breakEven, step, check }) {
  const a = plain(alpha), sup = (power) => h("sup", {}, power);
  const put = (key, ...parts) => terms[key].replaceChildren(...parts);
  const edge = best === lengths.at(-1) ? `; the search ends at ${best}` : "";
  const milliseconds = (time) => plain(time * 1e3, 5) + " ms";
  if (alpha === 1) put("E", `E = K + 1 = ${fixed(E)}: every guess is right`);
  else put("E", "E = (1 − α", sup("K+1"), ")/(1 − α) = (1 − ", a, sup(String(K + 1)), `)/(1 − ${a}) = ${fixed(E, 3)}`);
  if (K === 0) put("v", "v = 1: nothing is checked");
  else put("v", `v = ${plural(K + 1, "position")} ÷ 1 position = ${milliseconds(check.time)} ÷ ${milliseconds(step.time)} = ${fixed(v, 3)}`);
  put("r", `r = K c + v = ${K} × ${plain(c)} + ${fixed(v, 3)} = ${fixed(r, 3)} plain steps`);
  put("S", `E ÷ r = ${fixed(E, 3)} ÷ ${fixed(r, 3)} = `, h("strong", {}, times(S)));
  put("best", best === 0 ? "0: plain decoding, no draft pays" : `${best}, at ${times(speedups[best])}${edge}`);
  put("even", K === 0 ? "no draft, no break-even" : Number.isNaN(breakEven) ? `none: even α = 1 loses at K = ${K}`
    : `α = ${plain(breakEven, 3)} at this c${batch > 1 ? ", K and batch" : " and K"}`);
}
