/* Parts of the overlap explorer: its bars, and what they come to in words. */

const BARS = { left: 92, right: 44, top: 8, bottom: 42, thickest: 20 };
const FILLS = ["accepted", "rejected", "recovered"];

/* Two bars a token: above what the target wants, below what is drafted. What both have of a token
 * that is accepted is filled alike; then come what is recovered, and what is rejected. */
function tokenBars(height) {
  const ids = Object.fromEntries(["title", ...FILLS].map((name) => [name, uid(name)]));
  const pattern = (name, turn) => s("pattern", { id: ids[name], width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` },
    s("rect", { width: 6, height: 6, class: `sm-${name}-ground` }), s("path", { d: "M3,0V6", class: `sm-${name}-lines` }));
  const title = s("title", { id: ids.title }), frame = s("g"), bars = s("g");
  const svg = s("svg", { class: "sm-chart", role: "img", height, "aria-labelledby": ids.title },
    title, s("defs", {}, pattern("accepted", 45), pattern("rejected", -45), pattern("recovered", 0)), frame, bars);
  const node = h("div", { class: "sm-chart-box", style: `height:${height}px` }, svg);
  const { left, top } = BARS, bottom = height - BARS.bottom;
  const text = (words, x, y, attributes) => s("text", { x, y, ...attributes }, words);
  let width = 640, last = null;

  function draw(rows, rule, words) {
    last = [rows, rule, words];
    const right = width - BARS.right, pitch = (bottom - top) / rows.length, thick = Math.min(BARS.thickest, pitch * 0.4);
    const x = (chance) => Number((left + chance * (right - left)).toFixed(1));
    const box = (from, to, y, attributes) => s("path", { d: `M${x(from)},${y.toFixed(1)}H${x(to)}v${thick.toFixed(1)}H${x(from)}Z`, ...attributes });
    const scale = [0, 0.25, 0.5, 0.75, 1];
    frame.replaceChildren(s("path", { class: "sm-grid", d: scale.map((chance) => `M${x(chance)},${top}V${bottom}`).join("") }),
      ...scale.map((chance) => text(plain(chance), x(chance), bottom + 16, { "text-anchor": "middle" })),
      text("probability", (left + right) / 2, height - 6, { "text-anchor": "middle" }));
    const parts = rows.flatMap((row, index) => {
      const middle = top + (index + 0.5) * pitch, upper = middle - thick, lower = middle + 1;
      // A certain draft has one bar, and nothing to say of the other tokens.
      const pair = [["target", row.p, "recovered", upper], ["draft", row.drafted, "rejected", lower]].slice(0, rule === "greedy draft" && !row.drafted ? 1 : 2);
      return [
        text(labelOf(row), left - 7, middle + 4, { class: "sm-token", "text-anchor": "end" }),
        ...pair.flatMap(([side, whole, rest, y]) => [
          box(0, row.accepted, y, { fill: `url(#${ids.accepted})` }), box(row.accepted, whole, y, { fill: `url(#${ids[rest]})` }),
          box(0, whole, y, { class: `sm-outline sm-${side}-bar` }), text(fixed(whole), x(whole) + 5, y + thick / 2 + 4, { class: `sm-${side}-value sm-halo` }),
        ]),
        // Where the draft is certain of its favorite, q is what it would have offered.
        ...(rule === "greedy draft" && row.q > 0 ? [s("path", { class: "sm-q", d: `M${x(row.q)},${(lower - 1).toFixed(1)}v${(thick + 2).toFixed(1)}` })] : []),
      ];
    });
    title.textContent = words;
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    bars.replaceChildren(...parts);
  }
  const observer = new ResizeObserver(([seen]) => {
    width = Math.round(seen.contentRect.width) || width;
    if (last) draw(...last);
  });
  observer.observe(node);
  return { node, draw, stop: () => observer.disconnect() };
}

const shorter = (words) => (words.length > 10 ? words.slice(0, 9) + "…" : words);
const labelOf = (row) => (row.others ? plural(row.others, "other") : shorter(visible(row.label)));
const called = (row) => (row.others ? `the ${plural(row.others, "other token")}` : quoted(shorter(row.label.trim() || visible(row.label))));

function percent(chance) {
  if (chance === 0 || chance === 1) return `${100 * chance}%`;
  const digits = chance < 0.0995 || chance > 0.9905 ? 1 : 0, text = (100 * chance).toFixed(digits);
  return Number(text) === 0 ? "less than 0.1%" : Number(text) === 100 ? "more than 99.9%" : text + "%";
}

const most = (rows, part) => rows.reduce((top, row) => (row[part] > top[part] ? row : top));

/* What one sees, as a headline and a sentence. */
function overlapWords(rule, { rows, rates, favorite, wanted }) {
  const rate = rates[rule], headline = `${rule[0].toUpperCase()}${rule.slice(1)}: ${percent(rate)} accepted.`;
  if (rule === "greedy draft") return [headline, `The draft is always ${called({ label: favorite })}. The target wants it with chance ${fixed(wanted)}, and that often it stands.`];
  if (rule === "exact match") return [headline, `Target and draft draw a token each. That is how often they draw the same.`];
  if (most(rows, "rejected").rejected < 1e-9) return [headline, "Both distributions are the same: nothing is rejected."];
  return [headline, `That much the two share. Most often rejected: ${called(most(rows, "rejected"))}. Most often recovered: ${called(most(rows, "recovered"))}.`];
}

function largest({ rates, favorite }) {
  const top = Math.max(...Object.values(rates)), first = DATA.rules.filter((name) => top - rates[name] < 1e-9);
  if (first.length === DATA.rules.length) return "none: all three are equal";
  if (first.length > 1) return `${first.join(" and ")}, equal`;
  return first[0] === "greedy draft" ? `greedy draft: the target is surer of ${called({ label: favorite })}` : first[0];
}

/* The distribution after a rejection. */
function recoveredWords(rule, { rows, rates }) {
  const rejected = 1 - rates[rule];
  if (rejected < 1e-9) return "never needed";
  const shares = rows.filter(({ recovered }) => recovered > 0).sort((one, other) => other.recovered - one.recovered);
  const share = (row) => `${called(row)} ${fixed(row.recovered / rejected)}`, rest = shares.slice(2);
  const left = rest.reduce((sum, row) => sum + row.recovered, 0) / rejected;
  return shares.slice(0, 2).map(share).join(", ") + (rest.length ? `, the rest ${fixed(left)}` : "");
}
