/* The speedup explorer: acceptance rate, cost ratio, draft length and batch in; the whole curve of
 * speedups over K out, with the formula as it stands with these numbers, and a verdict in words. */

const SETTINGS = ["alpha", "c", "K", "batch", "machine", "model", "context", "weight_bits", "devices"];
const SLOW = "slower than plain decoding";

/* Everything the widget says, computed from one setting. */
function evaluate({ alpha, c, K, batch, machine, model, context, weight_bits: bits, devices }) {
  const device = DATA.machines[machine], shape = DATA.models[model];
  const run = { machine: device, model: shape, bits, devices };
  const lengths = Array.from({ length: DATA.ranges.K.high + 1 }, (_, length) => length);
  const costs = lengths.map((length) => roofline.verifyCost(run, batch, length, context));
  const speedups = lengths.map((length) => theory.speedup(alpha, c, length, costs[length]));
  const free = lengths.map((length) => theory.speedup(alpha, c, length, 1));
  return {
    device, shape, lengths, speedups, free, best: theory.best(speedups), v: costs[K], S: speedups[K],
    E: theory.tokensPerRound(alpha, K), r: theory.roundCost(c, K, costs[K]),
    breakEven: K > 0 ? theory.breakEvenAcceptance(c, K, costs[K]) : Number.NaN,
    step: roofline.passTime(run, batch, 1, context),
    check: roofline.passTime(run, batch, K + 1, context),
    differs: speedups.some((value, length) => Math.abs(value - free[length]) > 0.005),
  };
}

function verdict({ K, c, alpha }, { S, E, r, best, speedups, free }) {
  if (K === 0) return ["even", "Plain decoding", "Nothing is drafted; one pass writes one token."];
  const account = `A round costs ${fixed(r)} plain steps and writes ${fixed(E)} tokens.`;
  if (Math.abs(S - 1) < 0.005) return ["even", "Breaks even", account];
  if (S > 1) return ["win", "Wins", `${times(S)} plain decoding. ${account}`];
  const cure = best > 0 && speedups[best] > 1.005 ? ` K = ${best} would win, ${times(speedups[best])}.`
    : best > 0 ? ` The best, K = ${best}, gains less than 0.5 %.`
    : free[K] > 1 ? ` Checking ${K + 1} positions at once eats the gain.`
    : alpha <= c ? " No K wins while α is not above c." : " No K wins here.";
  return ["loss", "Loses", `${times(S)} plain decoding. ${account}${cure}`];
}

function explorer({ model, el, anchor }) {
  const shown = model.get("controls");
  const loaded = shown.includes("batch");
  const { node: said, say, stop: hush } = announcer();
  const desk = loadBench({ model, el, anchor, names: SETTINGS, say });
  const figure = chart(280);
  const headline = h("p", { class: "sm-verdict" });
  const legend = h("p", { class: "sm-key" });
  const terms = {};
  const term = (key, label) => [h("dt", {}, label), (terms[key] = h("dd"))];
  const formula = h("dl", { class: "sm-formula" }, term("E", "Tokens per round"), term("v", "Checking"), term("r", "Round cost"), term("S", "Speedup"), term("best", "Best K"), term("even", "Break-even"));
  const memory = h("p", { class: "sm-note sm-memory" });
  const table = h("tbody");
  const details = h("details", { ontoggle: () => draw() }, h("summary", {}, "The curve as numbers"),
    h("table", {}, h("thead", {}, h("tr", {}, ["K", "speedup", "if checking were free"].map((name) => h("th", { scope: "col" }, name)))), table));

  const fields = [
    { name: "alpha", label: "Acceptance rate α", hint: "chance that one guess is right", step: 0.01, speak: (value) => plain(value) },
    { name: "c", label: "Cost ratio c", hint: "draft step ÷ target step", step: 0.005, speak: (value) => `${plain(value)} target steps` },
    ...LOAD_SLIDERS,
  ].filter(({ name }) => shown.includes(name)).map((spec) => field(model, DATA.ranges[spec.name], spec));
  const selects = loaded ? loadControls(model, desk.choose, ["machine", "model", "context", "weight_bits", "devices"]) : [];

  function draw(aloud = true) {
    const now = desk.read();
    if (!now) return;
    const result = evaluate(now), { best, speedups, S } = result, { K } = now;
    const [kind, word, why] = verdict(now, result);
    headline.className = "sm-verdict sm-" + kind;
    headline.replaceChildren(h("strong", {}, word + ": "), why);
    drawCurve(figure, now, result, `Speedup against draft length K. ${word}: ${why}`);
    legend.replaceChildren(h("span", { class: "sm-swatch sm-full" }, `${now.devices > 1 ? `${now.devices} × ` : ""}${result.device.name}, ${result.shape.name}, batch ${now.batch}`),
      h("span", { class: "sm-swatch sm-free" }, result.differs ? "textbook: checking is free" : "textbook (v = 1): the same curve here"));
    explain(terms, now, result);
    const limit = result.step.computing ? "arithmetic" : "memory reads";
    memory.replaceChildren(...memoryWords(now, result, result.step), result.step.fits ? `Plain steps at batch ${now.batch} are limited by ${limit}. ` : "", limitWords(now));
    memory.classList.toggle("sm-warning", !result.step.fits);
    memory.hidden = !loaded && result.step.fits;
    if (details.open) {
      table.replaceChildren(...result.lengths.map((length) => h("tr", {}, h("th", { scope: "row" }, String(length)), h("td", {}, times(speedups[length])), h("td", {}, times(result.free[length])))));
    }
    desk.pointLink(now);
    if (aloud) say(`${word}: ${times(S)} at K = ${K}. Best K is ${best}, ${times(speedups[best])}.` + (result.step.fits ? "" : " The model does not fit this machine."));
  }

  el.replaceChildren(h("div", { class: "sm sm-explorer", role: "group", "aria-label": "Speedup explorer" },
    headline, figure.node, legend, desk.notice,
    h("div", { class: "sm-fields" }, fields.map((one) => one.node)),
    loaded ? h("div", { class: "sm-fields sm-load" }, selects.map((one) => one.node)) : null,
    formula, memory, details, desk.actions, said));
  const leave = desk.start([...fields, ...selects], draw);
  return () => {
    leave();
    hush();
    figure.stop();
  };
}
