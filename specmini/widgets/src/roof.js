/* The roofline explorer: a machine, a model and a load in; where a plain step and a check sit on the
 * machine's roofline, and the bill of each, out. */

const ROOF_SETTINGS = ["machine", "model", "weight_bits", "arithmetic_bits", "devices", "batch", "K", "context", "overhead_ms"];

function roof({ model, el, anchor }) {
  const { node: said, say, stop: hush } = announcer();
  const desk = loadBench({ model, el, anchor, names: ROOF_SETTINGS, say });
  const figure = chart(300, { ...MARGIN, left: 52, right: 26 }), bill = bills();
  const headline = h("p", { class: "sm-verdict" }), memory = h("p", { class: "sm-note sm-memory" });
  const terms = {};
  const term = (key, label) => [h("dt", {}, label), (terms[key] = h("dd"))];
  const key = (kind, words) => h("span", { class: "sm-symbol" }, kind, words);
  const legend = h("p", { class: "sm-key" }, key("●◆ ", "linear layers: step, check"), key("○◇ ", "attention: step, check"));
  const fields = LOAD_SLIDERS.map((spec) => field(model, DATA.ranges[spec.name], spec));
  const selects = loadControls(model, desk.choose, ["machine", "model", "weight_bits", "arithmetic_bits", "devices", "context", "overhead_ms"]);

  function draw(aloud = true) {
    const now = desk.read();
    if (!now) return;
    const result = passes(now);
    const [claim, why] = roofWords(now, result);
    headline.replaceChildren(h("strong", {}, claim), ` ${why}`);
    drawRoof(figure, now, result, `Roofline of ${result.device.name}. ${claim} ${why}`);
    bill.draw(result);
    roofTerms(terms, now, result);
    memory.replaceChildren(...memoryWords(now, result, result.check), limitWords(now));
    memory.classList.toggle("sm-warning", !result.check.fits);
    desk.pointLink(now);
    if (aloud) say(`${claim} ${why}` + (result.check.fits ? "" : " It does not fit this machine."));
  }

  el.replaceChildren(h("div", { class: "sm sm-roofline", role: "group", "aria-label": "Roofline explorer" },
    headline, figure.node, legend, bill.bars, desk.notice,
    h("div", { class: "sm-fields" }, fields.map((one) => one.node)),
    h("div", { class: "sm-fields sm-load" }, selects.map((one) => one.node)),
    bill.table, h("dl", { class: "sm-formula" }, term("v", "Verify cost"), term("tokens", "Tokens"), term("intensity", "Intensity"), term("experts", "Experts"), term("largest", "Largest batch")),
    memory, desk.actions, said));
  const leave = desk.start([...fields, ...selects], draw);
  return () => {
    leave();
    hush();
    figure.stop();
  };
}
