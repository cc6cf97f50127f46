/* What every widget needs from the page: elements, numbers as text, one announcer for screen
 * readers, and the pair of slider and number field that edits one setting of the model. */

const SVG = "http://www.w3.org/2000/svg";
let serial = 0;
// A live notebook loads this file once for each widget, so a counter alone would repeat ids.
const page = Math.random().toString(36).slice(2, 7);
const uid = (stem) => `sm-${stem}-${page}-${++serial}`;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const minus = (text) => text.replace("-", "\u2212");
const fixed = (number, digits = 2) => minus(number.toFixed(digits));
// As typed: 0.8 stays 0.8, and 0.8700000000000001 is a rounding error, not a setting.
const plain = (number, digits = 12) => String(Number(number.toPrecision(digits)));
const times = (number) => fixed(number) + "×";
const plural = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
const wholePercent = (score) => `${Math.floor(100 * score + 0.5)}%`;

/* What a reader or a link gave, cut as Python's messages are. */
const echo = (given) => (given === "" ? "nothing" : String(given).length > 60 ? String(given).slice(0, 57) + "..." : given);

/* Why a value is refused, or null. `given` is what it was read from. */
function refusal(range, label, value, given = value) {
  const number = typeof value === "number" ? value : Number.NaN;
  const inside = number >= range.low && number <= range.high;
  if (inside && (!range.whole || Number.isInteger(number))) return null;
  const kind = range.whole ? "a whole number" : "a number";
  return `${label} must be ${kind} in [${range.low}, ${range.high}], got ${echo(given)}`;
}

/* Says the last message once, when the reader has stopped moving things. */
function announcer(wait = 400) {
  const node = h("p", { class: "sm-hidden", role: "status" });
  let timer = 0, said = "";
  return {
    node,
    say(message) {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (message !== said) node.textContent = said = message;
      }, wait);
    },
    stop: () => clearTimeout(timer),
  };
}

/* Listens to several settings at once; the function that comes back stops listening. */
function watch(model, names, react) {
  for (const name of names) model.on("change:" + name, react);
  return () => names.forEach((name) => model.off("change:" + name, react));
}

function change(model, values) {
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  model.save_changes();
}

/* The number field of one setting. It takes any allowed value, says why it refuses another, and
 * leaves the last good one in force. `more` are further attributes of the input. */
function entry(model, range, { name, label, step }, more) {
  const errorId = uid("error");
  let settled = model.get(name);
  const number = h("input", {
    type: "number", class: "sm-number", min: range.low, max: range.high, step,
    inputmode: range.whole ? "numeric" : "decimal", autocomplete: "off", "aria-describedby": errorId, ...more,
  });
  const error = h("p", { class: "sm-error", id: errorId, role: "alert" });
  const complain = (sentence) => {
    error.textContent = sentence || "";
    if (sentence) number.setAttribute("aria-invalid", "true");
    else number.removeAttribute("aria-invalid");
  };
  function show() {
    const value = model.get(name), wrong = refusal(range, label, value);
    complain(wrong);
    // Typing "0.80" sets 0.8; rewriting the text under the reader's hands would be rude.
    if (!wrong && (number.value === "" || Number(number.value) !== value)) number.value = plain(value);
  }
  function typed(event) {
    const value = number.value === "" ? "" : Number(number.value);
    const wrong = refusal(range, label, value);
    if (!wrong) {
      complain(null);
      change(model, { [name]: value });
    } else if (event.type === "change") {
      // Not on "input": half a number is not a mistake yet. On its way "1.5" was a good 1, which
      // the reader did not mean either, so the value from before the typing comes back.
      const text = number.value;
      change(model, { [name]: settled });
      number.value = text;
      complain(`${wrong}. Still using ${plain(settled)}.`);
    }
    if (!wrong && event.type === "change") settled = value;
  }
  number.addEventListener("focus", () => { settled = model.get(name); });
  number.addEventListener("input", typed);
  number.addEventListener("change", typed);
  show();
  return { number, error, show, stop: watch(model, [name], show) };
}

/* One setting as a slider with its number field. `stops`, if given, are the values the slider
 * steps through; `speak` says a value with its unit. */
function field(model, range, { name, label, hint, step, stops, speak }) {
  const id = uid(name), hintId = uid("hint");
  const typed = entry(model, range, { name, label, step }, { "aria-label": `${label}, exact value` });
  const slider = h("input", {
    type: "range", id, class: "sm-slider", "aria-describedby": hintId,
    min: stops ? 0 : range.low, max: stops ? stops.length - 1 : range.high, step: stops ? 1 : step,
  });
  const nearest = (value) => theory.best(stops.map((stop) => -Math.abs(Math.log(stop / value))));
  function place() {
    const value = model.get(name);
    if (refusal(range, label, value)) return;
    slider.value = stops ? nearest(value) : value;
    slider.setAttribute("aria-valuetext", speak(value));
  }
  slider.addEventListener("input", () => {
    const position = Number(slider.value);
    change(model, { [name]: stops ? stops[position] : position });
    typed.show();
  });
  place();
  const unwatch = watch(model, [name], place);
  const node = h("div", { class: "sm-field" },
    h("label", { for: id }, label), h("span", { class: "sm-hint", id: hintId }, hint),
    slider, typed.number, typed.error);
  const stop = () => { unwatch(); typed.stop(); };
  return { node, show: () => { place(); typed.show(); }, stop };
}

function numberField(model, range, spec) {
  const id = uid(spec.name);
  const typed = entry(model, range, spec, { id });
  const node = h("div", { class: "sm-choice sm-choice-" + spec.name }, h("label", { for: id }, spec.label), typed.number, typed.error);
  return { node, show: typed.show, stop: typed.stop };
}

/* One setting as a line of text. `wrong(text)` says why it refuses a text, or null; `example` is one
 * that it takes. As with numbers, half a text is no mistake before the reader leaves it,
 * and what was good on the way to a bad one does not stay. */
function textField(model, { name, label, hint, example, wrong }) {
  const id = uid(name), hintId = uid("hint"), errorId = uid("error");
  const input = h("input", { type: "text", id, class: "sm-number", placeholder: example, autocomplete: "off", spellcheck: "false", "aria-describedby": `${hintId} ${errorId}` });
  const error = h("p", { class: "sm-error", id: errorId, role: "alert" }), words = h("span", { class: "sm-hint", id: hintId });
  const complain = (sentence) => {
    error.textContent = sentence || "";
    if (sentence) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  function show() {
    const value = model.get(name);
    complain(null);
    if (input.value !== value) input.value = value;
    words.textContent = hint();
  }
  let settled = model.get(name);
  function typed(event) {
    const refused = wrong(input.value), text = input.value;
    if (!refused) {
      complain(null);
      change(model, { [name]: text });
    } else if (event.type === "change") {
      change(model, { [name]: settled });
      input.value = text;
      complain(`${label} must ${refused}, got ${echo(text)}. Still using ${settled || "nothing"}.`);
    }
    if (!refused && event.type === "change") settled = text;
  }
  input.addEventListener("focus", () => { settled = model.get(name); });
  input.addEventListener("input", typed);
  input.addEventListener("change", typed);
  show();
  const node = h("div", { class: "sm-choice sm-choice-" + name }, h("label", { for: id }, label), words, input, error);
  return { node, show, hint: () => { words.textContent = hint(); }, stop: watch(model, [name], show) };
}

/* `options()` are what can be chosen now: value, text, and if need be group and disabled; they are
 * asked for again when a setting in `after` changes. `choose` takes the choice. */
function choice(model, { name, label, options, choose, after = [] }) {
  const id = uid(name), select = h("select", { id });
  let values = [];
  function list() {
    const groups = new Map();
    values = [];
    for (const { value, text, group = "", disabled } of options()) {
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(h("option", { value, disabled }, text));
      values.push(value);
    }
    const grouped = groups.size > 1;
    select.replaceChildren(...[...groups].flatMap(([group, items]) => (grouped ? h("optgroup", { label: group }, items) : items)));
    select.disabled = values.length < 2;
    show();
  }
  const show = () => { select.value = model.get(name); };
  select.addEventListener("change", () => choose({ [name]: values.find((value) => String(value) === select.value) }));
  list();
  const stops = [watch(model, [name], show), watch(model, after, list)];
  const node = h("div", { class: "sm-choice sm-choice-" + name }, h("label", { for: id }, label), select);
  return { node, show, stop: () => stops.forEach((stop) => stop()) };
}
