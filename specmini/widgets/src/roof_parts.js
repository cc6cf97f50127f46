/* Parts of the roofline explorer: the drawing, the two bills, and what can be said in words. */

const PARTS = { weights: "weights", attention: "attention", communication: "transfers", overhead: "overhead" };
// Both axes are logarithmic; another machine of the catalog moves its roof, not the axes.
const LEAST = DATA.least_intensity, [LOW, HIGH] = DATA.speeds;
const decades = (low, high) => Array.from({ length: high - low + 1 }, (_, index) => low + index);
const power = (exponent, unit = 0) => (10 ** (exponent - unit)).toLocaleString("en-US");
const whole = (number) => Math.round(number).toLocaleString("en-US");
const short = (number) => (number >= 1000 ? whole(number) : plain(number, 3));
const inMilliseconds = (seconds) => `${short(seconds * 1e3)} ms`;

/* Operations per byte and operations per second of a part of a pass, as logarithms. */
const place = (flops, bytes, seconds) => [Math.log10(flops / bytes), Math.log10(flops / seconds)];

/* Everything the widget shows, computed from one setting. */
function passes({ machine, model, weight_bits: bits, arithmetic_bits: arithmetic, devices, batch, K, context, overhead_ms: overhead }) {
  const device = DATA.machines[machine], shape = DATA.models[model];
  const run = { machine: device, model: shape, bits, arithmetic, devices, overhead: { perPass: overhead / 1e3 } };
  const step = roofline.passTime(run, batch, 1, context), check = roofline.passTime(run, batch, K + 1, context);
  return {
    device, shape, step, check, v: check.time / step.time,
    ridge: roofline.ridgeTokens(run), largest: roofline.largestBatch(run, context + K + 1),
    peak: roofline.peak(device, arithmetic),
  };
}

function drawRoof(figure, { arithmetic_bits: bits, K, devices }, { device, peak, step, check }, title) {
  const slope = Math.log10(device.bandwidth), roof = Math.log10(peak), ridge = roof - slope;
  const linear = (pass) => place(pass.linearFlops, pass.weightBytes, pass.times.weights);
  const attention = (pass) => place(pass.attentionFlops, pass.cache, pass.times.attention);
  const last = Math.max(4, Math.ceil(Math.max(linear(check)[0], attention(check)[0])));
  const start = Math.max(LEAST, LOW - slope);
  const lower = Math.log10(device.peak_flops);
  const narrow = bits !== 16; // attention then has a lower roof of its own
  const left = ridge > last / 2; // where the label of the ridge has more room
  const [from, to] = [linear(step), linear(check)];
  figure.draw({
    title, x: [LEAST, last], xTicks: decades(0, last), xText: (value) => power(value), xLabel: "operations per byte read",
    y: [LOW, HIGH], yTicks: decades(LOW, HIGH), yText: (value) => power(value, 12),
    yLabel: `TFLOP/s${devices > 1 ? ", one device" : ""}`,
    lines: [
      { class: "sm-free", points: [[ridge, LOW], [ridge, roof]] },
      ...(narrow ? [{ class: "sm-free", points: [[lower - slope, lower], [last, lower]] }] : []),
      { class: "sm-roof", points: [[start, slope + start], [ridge, roof], [last, roof]] },
    ],
    marks: [
      { at: [ridge, LOW], bare: true, above: left ? "end" : "start", aside: left ? -7 : 7, label: `ridge: ${short(10 ** ridge)} a byte` },
      { at: [last, roof], bare: true, above: "end", label: `peak: ${short(peak / 1e12)}` },
      ...(narrow ? [{ at: [last, lower], bare: true, below: "end", label: `16 bits: ${short(device.peak_flops / 1e12)}` }] : []),
      { at: from, class: "sm-full", label: K > 0 ? "step" : "step and check", above: "end" },
      ...(K > 0 ? [{ at: to, class: "sm-full", diamond: true, label: "check", below: to[0] > 0.85 * last ? "end" : "start" }] : []),
      { at: attention(step), class: "sm-ring", r: 4 },
      ...(K > 0 ? [{ at: attention(check), class: "sm-ring", diamond: true, r: 4 }] : []),
    ],
  });
}

/* Two stacked bars, and the same as a table. */
function bills() {
  const bars = h("div", { class: "sm-bars", "aria-hidden": "true" }), body = h("tbody"), head = h("tr");
  const table = h("table", { class: "sm-bill" }, h("thead", {}, head), body);
  const limits = { weights: ({ computing }) => computing, attention: ({ attending }) => attending };
  function draw({ step, check }) {
    const pair = [["step", step], ["check", check]], most = Math.max(step.time, check.time);
    const bar = (pass) => Object.keys(PARTS).filter((part) => pass.times[part] > 0).map((part) =>
      h("span", { class: "sm-part sm-part-" + part, style: `width:${((100 * pass.times[part]) / most).toFixed(2)}%` }));
    bars.replaceChildren(...pair.flatMap(([name, pass]) => [h("span", {}, name), h("span", { class: "sm-bar" }, bar(pass)), h("span", {}, inMilliseconds(pass.time))]));
    head.replaceChildren(h("th", { scope: "col" }, "part"), ...pair.map(([name, pass]) => h("th", { scope: "col" }, `${name}, ${plural(pass.tokens, "token")}`)));
    const cell = (part, pass) => h("td", {}, inMilliseconds(pass.times[part]), limits[part] ? h("small", {}, limits[part](pass) ? " arithmetic" : " reads") : null);
    body.replaceChildren(...Object.entries(PARTS).map(([part, name]) => h("tr", {}, h("th", { scope: "row" }, h("span", { class: "sm-part sm-part-" + part }), name), pair.map(([, pass]) => cell(part, pass)))),
      h("tr", { class: "sm-sum" }, h("th", { scope: "row" }, "together"), pair.map(([, pass]) => h("td", {}, inMilliseconds(pass.time)))));
  }
  return { bars, table, draw };
}

function roofWords({ K }, { shape, step, check, v, ridge }) {
  if (K === 0) return ["Nothing is drafted.", `Step and check are the same pass, of ${plural(step.tokens, "token")}, ${step.tokens > ridge ? "past" : "below"} the ridge of ${whole(ridge)}.`];
  const where = `The check holds ${plural(check.tokens, "token")}, ${check.tokens > ridge ? "past" : "below"} the ridge of ${whole(ridge)}`;
  const linear = !check.computing ? `: reading its weights takes longer than computing with them`
    : step.computing ? `, and so is the plain step with ${whole(step.tokens)}: a guess costs as much arithmetic as the token it guesses`
    : `: computing takes longer than reading its weights; in the plain step, with ${whole(step.tokens)}, it does not`;
  const experts = !check.computing && shape.experts ? `, but it touches ${short(check.touched)} of ${shape.experts} experts, the step ${short(step.touched)}` : "";
  const { attention, weights } = check.times;
  const cache = attention <= weights ? "" : check.attending ? " Attention takes longer than the weights, and arithmetic limits it too."
    : ` Attention takes longer than the weights, and all ${K + 1} tokens of a sequence share one reading of its cache.`;
  return [`Checking ${plural(K, "guess").replace("guesss", "guesses")} costs ${fixed(v)} plain steps.`, `${where}${linear}${experts}.${cache}`];
}

function roofTerms(terms, { K, batch, context }, { shape, step, check, v, ridge, largest }) {
  const put = (key, ...parts) => terms[key].replaceChildren(...parts);
  put("v", `v = check ÷ step = ${plain(check.time * 1e3, 4)} ms ÷ ${plain(step.time * 1e3, 4)} ms = `, h("strong", {}, fixed(v, 3)));
  put("tokens", `${plural(batch, "sequence")} × ${K + 1} = ${whole(check.tokens)} in the check; the ridge is at ${ridge < 1000 ? fixed(ridge, 1) : whole(ridge)} tokens`);
  put("intensity", `${short(step.linearFlops / step.weightBytes)} operations a byte of weights in the step, ${short(check.linearFlops / check.weightBytes)} in the check`);
  put("experts", shape.experts ? `${short(step.touched)} of ${shape.experts} touched in the step, ${short(check.touched)} in the check` : "none: every pass reads all weights");
  put("largest", largest > 0 ? `${plural(largest, "sequence")} of ${plural(context, "token")} and a check fit` : "not one sequence fits beside the weights");
}
