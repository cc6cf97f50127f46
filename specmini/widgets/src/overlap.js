/* The overlap explorer: what a target and a draft expect in one context, at the temperatures that
 * are chosen, and what three rules accept of it. */

// The switch first: what a link asks of tied temperatures depends on it.
const OVERLAP_SETTINGS = ["together", "context", "rule", "target_temperature", "draft_temperature"];
const FORMULAS = { textbook: "Σ min(p, q)", "greedy draft": "p(argmax q)", "exact match": "Σ p q" };

function overlap({ model, el, anchor }) {
  const contexts = model.get("contexts");
  const { node: said, say, stop: hush } = announcer();
  const options = { together: [true, false], context: contexts.map(({ key }) => key), rule: DATA.rules };
  const desk = workbench({ model, el, anchor, names: OVERLAP_SETTINGS, options, say });
  const figure = tokenBars(322);
  const headline = h("p", { class: "sm-verdict" }), before = h("p", { class: "sm-before" });
  const swatch = (kind, words) => h("span", { class: "sm-patch sm-patch-" + kind }, words);
  const mark = swatch("q", "q, the draft’s own");
  const legend = h("p", { class: "sm-key" }, swatch("target", "upper bar: target p"), swatch("draft", "lower bar: drafted"), FILLS.map((name) => swatch(name, name)), mark);
  const terms = {}, term = (key, label) => [h("dt", {}, label), (terms[key] = h("dd"))];
  const formula = h("dl", { class: "sm-formula" }, term("distance", "Total variation"), DATA.rules.flatMap((rule) => term(rule, rule[0].toUpperCase() + rule.slice(1))),
    term("largest", "Largest"), term("recovered", "Recovered token"));
  const table = h("tbody");
  const details = h("details", { ontoggle: () => draw() }, h("summary", {}, "The bars as numbers"), h("div", { class: "sm-wide", tabindex: "0", role: "group", "aria-label": "The bars as numbers" },
    h("table", {}, h("thead", {}, h("tr", {}, ["token", "p", "q", ...FILLS].map((name) => h("th", { scope: "col" }, name)))), table)));

  const heat = (side) => ({ name: `${side}_temperature`, label: `${side[0].toUpperCase()}${side.slice(1)} temperature`, hint: "0 leaves the favorite alone", step: 0.05, speak: (value) => plain(value) });
  const selects = [
    choice(model, { name: "context", label: "Context", choose: desk.choose, options: () => contexts.map(({ key, name }) => ({ value: key, text: name })) }),
    choice(model, { name: "rule", label: "Rule", choose: desk.choose, options: () => DATA.rules.map((rule) => ({ value: rule, text: `${rule}: ${FORMULAS[rule]}` })) }),
  ];
  const fields = ["target", "draft"].map((side) => field(model, DATA.ranges[`${side}_temperature`], heat(side)));
  const tied = h("span", { "aria-hidden": "true" });
  const together = h("button", { type: "button", class: "sm-button", role: "switch", onclick: () => desk.choose({ together: !model.get("together") }) }, "Temperatures together: ", tied);

  function draw(aloud = true) {
    const now = desk.read();
    if (!now) return;
    const context = contexts.find(({ key }) => key === now.context), result = compared(context, now), { rows, rates } = result;
    const [claim, why] = overlapWords(now.rule, result);
    headline.replaceChildren(h("strong", {}, claim), " " + why);
    before.replaceChildren(...(context.before ? ["What comes next? ", h("code", {}, context.before)] : ["What comes next?"]));
    const listed = rows.map((row) => `${called(row)}: target ${fixed(row.p)}, drafted ${fixed(row.drafted)}, accepted ${fixed(row.accepted)}`).join("; ");
    figure.draw(rows, now.rule, `Two bars a token, target and draft. ${claim} ${why} ${listed}.`);
    mark.hidden = now.rule !== "greedy draft";
    terms.distance.textContent = `TV = ½ Σ |p − q| = ${fixed(result.distance, 3)}`;
    for (const rule of DATA.rules) {
      const middle = rule === "textbook" ? "1 − TV = " : rule === "greedy draft" ? `p(${called({ label: result.favorite })}) = ` : "";
      terms[rule].replaceChildren(`${FORMULAS[rule]} = ${middle}`, h(rule === now.rule ? "strong" : "span", {}, fixed(rates[rule], 3)));
    }
    terms.largest.textContent = largest(result);
    terms.recovered.textContent = recoveredWords(now.rule, result);
    tied.textContent = now.together ? "on" : "off";
    together.setAttribute("aria-checked", String(now.together));
    if (details.open) table.replaceChildren(...rows.map((row) => h("tr", {}, h("th", { scope: "row" }, labelOf(row)), ["p", "q", ...FILLS].map((name) => h("td", {}, fixed(row[name], 3))))));
    desk.pointLink(now);
    if (aloud) say(`${claim} ${DATA.rules.map((rule) => `${rule} ${fixed(rates[rule])}`).join(", ")}; total variation ${fixed(result.distance)}.`);
  }

  el.replaceChildren(h("div", { class: "sm sm-overlap", role: "group", "aria-label": "Overlap explorer" },
    headline, before, figure.node, legend, desk.notice,
    h("div", { class: "sm-fields" }, [...selects, ...fields].map((one) => one.node)), h("p", {}, together),
    formula, details, desk.actions, said));
  const copyTo = (from, to) => () => {
    if (model.get("together") && model.get(to) !== model.get(from)) change(model, { [to]: model.get(from) });
  };
  const untie = [watch(model, ["together", "target_temperature"], copyTo("target_temperature", "draft_temperature")),
    watch(model, ["draft_temperature"], copyTo("draft_temperature", "target_temperature"))];
  const leave = desk.start([...selects, ...fields], draw);
  return () => {
    leave();
    untie.forEach((stop) => stop());
    hush();
    figure.stop();
  };
}
