/* The advice calculator: a machine, a model, a drafter, a load and what was measured in; a verdict
 * with its interval, what it rests on, and the command that says the same, out. */

const ADVICE_GROUPS = [
  ["Where it runs", ["machine", "bandwidth", "peak", "memory", "devices", "engine"]],
  ["Target", ["model", "billions", "active_billions", "weights"]],
  ["Draft", ["drafter", "draft", "draft_billions", "draft_length"]],
  ["Load", ["concurrency", "context"]],
  ["Measured, as far as you have it", ["acceptance", "acceptance_is", "cost_ratio", "plain_times"]],
];
const ADVICE_SETTINGS = ADVICE_GROUPS.flatMap(([, names]) => names);
const LOAD_STOPS = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];
const ONE_NUMBER = "(\\d{1,9}(\\.\\d{0,9})?|\\.\\d{1,9})";
const NUMBER_LIST = new RegExp(`^\\s*(${ONE_NUMBER}\\s*(,\\s*${ONE_NUMBER}\\s*)*)?$`);
const TIME_PAIR = new RegExp(`^\\s*([1-9]\\d{0,5})\\s*:\\s*(${ONE_NUMBER})\\s*$`);

/* What a text must be, or null; `b` has the limits. */
const wrongText = {
  acceptance: () => (text) => (NUMBER_LIST.test(text) ? null : "be numbers separated by commas, or nothing"),
  cost_ratio: (b) => (text) => (NUMBER_LIST.test(text) && !text.includes(",") && Number(text) <= b.most_cost ? null : `be a number in [0, ${b.most_cost}], or nothing`),
  plain_times: (b) => (text) => {
    const pairs = text.trim() === "" ? [] : text.split(",").map((part) => part.match(TIME_PAIR));
    const right = pairs.every((pair) => pair && Number(pair[2]) > 0) && pairs.length <= b.most_times;
    return right && new Set(pairs.map((pair) => Number(pair[1]))).size === pairs.length ? null
      : `be up to ${b.most_times} pairs N:MS such as 1:28, 64:41, each N once, or nothing`;
  },
};

/* What is shown of the settings: a number of one's own only where something is one's own. */
function adviceShown(b, now) {
  const own = { bandwidth: "machine", peak: "machine", memory: "machine", billions: "model", active_billions: "model" };
  if (now.drafter !== "draft model") own.draft = own.draft_billions = "none";
  else own.draft_billions = "draft";
  return (name) => !own[name] || String(now[own[name]]).startsWith("own");
}

function adviceControls(model, b, choose) {
  const shapes = (keys) => keys.map((value) => (value === "own" ? { value, text: "a size of your own", group: "Other" } : { value, text: DATA.models[value].name, group: DATA.models[value].experts ? "Mixture of experts" : "Dense" }));
  const machines = () => b.options.machine.map((value) => (b.own_machines[value] ? { value, text: b.own_machines[value][0], group: "Your own numbers" } : { value, text: DATA.machines[value].name, group: "Catalog" }));
  const devices = () => b.options.devices.filter((count) => {
    const now = { machine: model.get("machine"), engine: model.get("engine"), devices: count };
    return !devicesRefusal(now, DATA.machines[now.machine] || { interconnect: null });
  }).map((value) => ({ value, text: String(value) }));
  const list = (name, words = String) => () => b.options[name].map((value) => ({ value, text: words(value) }));
  const engines = { server: "server, like vLLM", local: "desk, like llama.cpp" };
  const kindOf = (value) => PRINTED[metricKind(b, value)];
  const spoken = { draft_length: (value) => plural(value, "token"), concurrency: (value) => `${value} request${value === 1 ? "" : "s"}` };
  const selects = {
    machine: ["Machine", machines], devices: ["Devices", devices, ["machine", "engine"]], engine: ["Engine", list("engine", (value) => engines[value])],
    model: ["Model", () => shapes(b.options.model)], weights: ["Weights", list("weights", (value) => `${value}: ${b.weights[value]} bits`)],
    drafter: ["Drafter", list("drafter")], draft: ["Draft model", () => shapes(b.options.draft)],
    acceptance_is: ["That number is", list("acceptance_is")],
  };
  const numbers = { bandwidth: ["Bandwidth (TB/s)", 0.01], peak: ["16-bit peak (TFLOP/s)", 1], memory: ["Memory (GB)", 1], billions: ["Parameters (billions)", 0.1], active_billions: ["Active a token (billions; 0: all)", 0.1], draft_billions: ["Its parameters (billions)", 0.1], context: ["Context (tokens)", 1] };
  const sliders = { draft_length: ["Draft length", "drafts a round"], concurrency: ["Concurrency", "requests in flight", LOAD_STOPS] };
  const texts = {
    acceptance: ["Acceptance", "2.4", () => kindOf(model.get("acceptance_is"))],
    cost_ratio: ["Cost ratio c", "0.1", () => "draft step ÷ plain step"],
    plain_times: ["Plain times", "1:28, 64:41", () => "without a draft, requests:ms a token"],
  };
  const made = {};
  for (const [name, [label, options, after]] of Object.entries(selects)) made[name] = choice(model, { name, label, choose, options, after });
  for (const [name, [label, step]] of Object.entries(numbers)) made[name] = numberField(model, DATA.ranges[name], { name, label, step });
  for (const [name, [label, hint, stops]] of Object.entries(sliders)) made[name] = field(model, DATA.ranges[name], { name, label, hint, step: 1, stops, speak: spoken[name] });
  for (const [name, [label, example, hint]] of Object.entries(texts)) made[name] = textField(model, { name, label, example, hint, wrong: wrongText[name](b) });
  return made;
}

function drawAdvice(figure, { gains, best, speedup, low, high, setting: { length: K } }, title) {
  const yTicks = ticks(Math.max(...gains, high, 1.5) * 1.08), label = (length) => `K = ${length}: ${times(gains[length])}`;
  const marks = [{ at: [K, speedup], class: "sm-full", label: K === best ? `${label(K)}, the best` : label(K), below: K < best ? "start" : "end", aside: K < best ? 7 : -7 }];
  if (K !== best) marks.unshift({ at: [best, gains[best]], class: "sm-best", diamond: true, label: `best ${label(best)}`, clear: [K, high] });
  figure.draw({
    x: [0, gains.length - 1], xTicks: gains.map((_, length) => length), xLabel: "draft length K", y: [0, yTicks.at(-1)], yTicks,
    yText: (value) => plain(value) + "×", yLabel: "speedup", band: { to: 1, label: SLOW }, marks, title,
    lines: [{ class: "sm-full", dots: true, points: gains.map((gain, length) => [length, gain]) }, { class: "sm-interval", points: [[K, low], [K, high]] }],
  });
}

/* The command on a line of its own, with a button that copies it. */
function commandBox(say) {
  const line = h("code"), note = h("span", { class: "sm-note" });
  const told = (words) => { note.textContent = words; say(words); };
  const refused = () => told("Not allowed here: select the line and copy it.");
  function copyIt() {
    if (!line.textContent) { told("Nothing to copy: that cannot be."); return; }
    if (!navigator.clipboard) { refused(); return; }
    told("Copied.");
    navigator.clipboard.writeText(line.textContent).catch(refused);
  }
  const button = h("button", { type: "button", class: "sm-button", onclick: copyIt }, "Copy command");
  const node = h("div", { class: "sm-command" }, h("p", { class: "sm-label" }, "The same on a terminal"), h("p", {}, line), h("p", { class: "sm-actions" }, button, note),
    h("p", { class: "sm-note" }, "The command also takes trees, weights of the draft, prompts, requests that were decoding, and a server’s own counters."));
  // An option and its value stay on one line; the text that is copied does not change by that.
  const show = (words) => {
    line.replaceChildren(...words.split(/ (?=--)/).flatMap((part, index) => [index ? " " : "", h("span", {}, part)]));
    note.textContent = "";
  };
  return { node, show };
}

function advice({ model, el, anchor }) {
  const b = model.get("basis"), { node: said, say, stop: hush } = announcer();
  const texts = Object.fromEntries(Object.entries(wrongText).map(([name, make]) => [name, make(b)]));
  const mended = (now) => {
    const wrong = devicesRefusal(now, DATA.machines[now.machine] || { name: b.own_machines[now.machine][0], interconnect: null });
    return wrong ? { instead: { devices: 1 }, said: [`Back to one device: ${wrong}.`] } : {};
  };
  const desk = workbench({ model, el, anchor, names: ADVICE_SETTINGS, options: b.options, texts, say, mended });
  const figure = chart(250), headline = h("p", { class: "sm-verdict" }), command = commandBox(say), controls = adviceControls(model, b, desk.choose);
  const details = ADVICE_LINES.map(([label, words]) => ({ words, label: h("dt", {}, label), text: h("dd") }));
  const warnings = h("ul", { class: "sm-outcome sm-warnings" });
  const groups = ADVICE_GROUPS.map(([label, names]) => {
    const box = h("div", { class: `sm-fields sm-many-${names.length}` });
    return { names, box, node: h("div", { role: "group", "aria-label": label }, h("p", { class: "sm-label" }, label), box) };
  });
  let shown = "";

  function arrange(now) {
    const visible = ADVICE_SETTINGS.filter(adviceShown(b, now));
    if (visible.join() === shown) return;
    shown = visible.join();
    for (const { names, box } of groups) box.replaceChildren(...names.filter((name) => visible.includes(name)).map((name) => controls[name].node));
  }

  function draw(aloud = true) {
    const now = desk.read();
    if (!now) return;
    arrange(now);
    controls.acceptance.hint();
    desk.pointLink(now);
    const found = adviseOn(b, now);
    widget.classList.toggle("sm-impossible", Boolean(found.wrong));
    if (found.wrong) {
      headline.className = "sm-verdict sm-loss";
      headline.replaceChildren(h("strong", {}, "That cannot be: "), found.wrong + ".");
      command.show("");
      if (aloud) say(`That cannot be: ${found.wrong}.`);
      return;
    }
    const word = b.verdicts[found.verdict], why = adviceWhy(found);
    headline.className = `sm-verdict sm-${{ win: "win", lose: "loss" }[found.verdict] || "even"}`;
    headline.replaceChildren(h("strong", {}, word + ": "), why + ".");
    drawAdvice(figure, found, `Speedup against draft length K. ${word}: ${why}.`);
    for (const { words, text } of details) text.textContent = words(found, b);
    const notes = [...found.warnings, ...(found.setting.spilled ? [`assumed: ${found.setting.spilled}`] : [])];
    warnings.replaceChildren(...notes.map((words) => h("li", {}, words)));
    command.show(commandLine(commandWords(b, now)));
    if (aloud) say(`${word}: ${why}. Best K: ${found.best}.${notes.length ? ` ${plural(notes.length, "warning")}.` : ""}`);
  }

  const key = h("p", { class: "sm-key sm-outcome" }, h("span", { class: "sm-swatch sm-full" }, "expected for this load"), h("span", { class: "sm-swatch sm-interval" }, "80\u00a0% interval at your K"));
  const widget = h("div", { class: "sm sm-advice", role: "group", "aria-label": "Advice calculator" },
    headline, h("div", { class: "sm-outcome" }, figure.node), key, desk.notice, groups.map(({ node }) => node),
    h("dl", { class: "sm-formula sm-outcome" }, details.flatMap(({ label, text }) => [label, text])), warnings, command.node, desk.actions, said);
  el.replaceChildren(widget);
  const leave = desk.start(Object.values(controls), draw);
  return () => {
    leave();
    hush();
    figure.stop();
  };
}
