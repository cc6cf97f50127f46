/* The drafter explorer: acceptance rate and cost of a reader's own drafter in; its speedup, its best
 * K, what would be worth improving, and the published and measured drafters near it out. */

// The switch first: while it is on, K follows the other settings of a link.
const DRAFTER_SETTINGS = ["best", "alpha", "c", "v", "h", "K"];

function drafters({ model, el, anchor }) {
  const points = model.get("points");
  const { node: said, say, stop: hush } = announcer();
  const desk = workbench({ model, el, anchor, names: DRAFTER_SETTINGS, options: { best: [true, false] }, say });
  const figure = chart(380, { ...MARGIN, left: 48, right: 18 }), drawMap = mapDrawing(figure, points);
  const headline = h("p", { class: "sm-verdict" });
  const key = (kind, words) => h("span", { class: "sm-symbol" }, kind, words);
  const legend = h("p", { class: "sm-key" }, key("● ", "published"), points.some((point) => point.measured) ? key("◆ ", "measured for this book") : null, key("── ", "equal speedup at the best K, with your v and h"));
  const terms = {}, term = (name, label) => [h("dt", {}, label), (terms[name] = h("dd"))];
  const formula = h("dl", { class: "sm-formula" }, term("E", "Tokens per round"), term("r", "Round cost"), term("S", "Speedup"), term("best", "Best K"), term("change", "To improve"), term("near", "Near you"));

  const start = h("select", { id: uid("start"), onchange: () => {
    const point = points[Number(start.value)];
    if (point) desk.choose({ best: false, alpha: point.alpha, c: Math.min(Math.max(point.c, 0), 1), v: 1, h: 1, K: point.K });
  } }, h("option", { value: "" }, "your own"), points.map((point, index) => h("option", { value: index }, `${index + 1} ${point.name}`)));
  const from = h("div", { class: "sm-choice" }, h("label", { for: start.id }, "Stand where this one stands"), start);
  const share = (value) => `${plain(value)}`;
  const fields = [
    { name: "alpha", label: "Acceptance rate α", hint: "chance that one guess is right, given a draft", step: 0.01, speak: share },
    { name: "c", label: "Cost ratio c", hint: "draft step ÷ target step", step: 0.005, speak: (value) => `${plain(value)} target steps` },
    { name: "K", label: "Draft length K", hint: "moving it turns “best” off", step: 1, speak: (value) => plural(value, "token") },
    { name: "v", label: "Verify cost v", hint: "check ÷ plain step", step: 0.05, speak: (value) => `${plain(value)} plain steps` },
    { name: "h", label: "Hit rate h", hint: "share of rounds with a draft", step: 0.01, speak: share },
  ].map((spec) => field(model, DATA.ranges[spec.name], spec));
  const follows = h("span", { "aria-hidden": "true" });
  const best = h("button", { type: "button", class: "sm-button", role: "switch", onclick: () => desk.choose({ best: !model.get("best") }) }, "Always the best K: ", follows);
  const table = h("tbody");
  const details = h("details", { ontoggle: () => draw() }, h("summary", {}, `All ${points.length} drafters`), h("div", { class: "sm-wide", tabindex: "0", role: "group", "aria-label": "All drafters" },
    h("table", {}, h("thead", {}, h("tr", {}, ["drafter", "α", "cost", "K", "speedup", "ran in"].map((name) => h("th", { scope: "col" }, name)))), table)));

  function draw(aloud = true) {
    const now = desk.read();
    if (!now) return;
    const result = placed(now, points), words = placedWords(now, result);
    headline.className = `sm-verdict sm-${now.K === 0 || Math.abs(result.S - 1) < 0.005 ? "even" : result.S > 1 ? "win" : "loss"}`;
    headline.replaceChildren(h("strong", {}, words.word + ". "), words.account);
    drawMap(now, result, `Acceptance rate across, cost of a draft upward. You: ${words.word}. Near you: ${words.near}.`);
    terms.E.textContent = `E = ${now.h === 1 ? "" : "1 + h (E_K − 1) = "}${fixed(result.E, 3)}`;
    terms.r.textContent = now.K === 0 ? "1: a plain step" : `${now.h === 1 ? "K c + v" : "h (K c + v) + 1 − h"} = ${fixed(result.r, 3)} plain steps`;
    terms.S.replaceChildren(`E ÷ r = `, h("strong", {}, times(result.S)));
    terms.best.textContent = result.best === 0 ? "0: plain decoding, no draft pays" : `${result.best}, at ${times(result.top)}${result.best === LONGEST ? `; the search ends at ${LONGEST}` : ""}`;
    terms.change.textContent = words.change;
    terms.near.textContent = words.near;
    const here = points.findIndex((point) => point.alpha === now.alpha && Math.min(Math.max(point.c, 0), 1) === now.c && point.K === now.K && now.v === 1 && now.h === 1);
    start.value = here < 0 ? "" : String(here);
    follows.textContent = now.best ? "on" : "off";
    best.setAttribute("aria-checked", String(now.best));
    if (details.open) table.replaceChildren(...points.map((point, index) => h("tr", {}, h("th", { scope: "row" }, `${index + 1} ${point.name}${point.exact ? "" : " (not exact)"}`),
      [fixed(point.alpha), fixed(point.c, 3), `${point.K}${point.tree ? " levels" : ""}`, times(point.speedup), point.engine].map((text) => h("td", {}, text)))));
    desk.pointLink(now);
    if (aloud) say(`${words.word} at K = ${now.K}. Best K is ${result.best}, ${times(result.top)}. Near you: ${words.near}.`);
  }

  el.replaceChildren(h("div", { class: "sm sm-drafters", role: "group", "aria-label": "Drafter explorer" },
    headline, figure.node, legend, desk.notice, h("div", { class: "sm-fields" }, fields.map((one) => one.node), from), h("p", {}, best),
    formula, details, desk.actions, said));
  const bestNow = () => { const now = desk.read(); return now && highest(now.alpha, now.c, now.v, now.h).best; };
  const follow = () => { const K = model.get("best") ? bestNow() : null; if (K !== null && K !== model.get("K")) change(model, { K }); };
  const leaveBest = () => { if (model.get("best") && bestNow() !== null && bestNow() !== model.get("K")) change(model, { best: false }); };
  const untie = [watch(model, ["best", "alpha", "c", "v", "h"], follow), watch(model, ["K"], leaveBest)];
  const leave = desk.start(fields, draw);
  return () => {
    leave();
    untie.forEach((stop) => stop());
    hush();
    figure.stop();
  };
}
