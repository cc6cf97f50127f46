/* A small line chart. It is drawn in real pixels, at the width it is given, so that its text stays
 * readable on a phone; its height never changes, so that nothing below it moves. What it shows
 * is also said in words by the widget around it. */

const LETTER = 8; // pixels, at most, that a letter of a label takes on average
const MARGIN = { left: 44, right: 14, top: 28, bottom: 42 };

function chart(height, margin = MARGIN) {
  const ids = { title: uid("title"), hatch: uid("hatch") };
  const title = s("title", { id: ids.title }), axes = s("g"), curves = s("g");
  const hatch = s("pattern", { id: ids.hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("path", { d: "M0,0V7", class: "sm-hatch" }));
  const svg = s("svg", { class: "sm-chart", role: "img", height, "aria-labelledby": ids.title },
    title, s("defs", {}, hatch), axes, curves);
  const node = h("div", { class: "sm-chart-box", style: `height:${height}px` }, svg);
  const left = margin.left, top = margin.top, bottom = height - margin.bottom;
  let last = null, width = 640, drawn = "";

  function draw(spec) {
    last = spec;
    const right = width - margin.right;
    const x = (value) => left + ((value - spec.x[0]) / (spec.x[1] - spec.x[0])) * (right - left);
    const y = (value) => bottom - ((value - spec.y[0]) / (spec.y[1] - spec.y[0])) * (bottom - top);
    const at = ([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`;

    // Moving a slider mostly moves the curves; the frame stays until a scale or the width changes.
    const frame = [width, spec.x, spec.yTicks, spec.xTicks].join();
    if (frame !== drawn) {
      drawn = frame;
      const xText = spec.xText || ((value) => value.toLocaleString("en-US"));
      const every = Math.max(1, Math.ceil((spec.xTicks.length * 34) / (right - left)));
      const text = (words, anchor, across, down) => s("text", { x: across, y: down, "text-anchor": anchor }, words);
      axes.replaceChildren(
        s("path", { class: "sm-grid", d: spec.yTicks.map((value) => `M${left},${y(value)}H${right}`).join("") }),
        ...spec.yTicks.map((value) => text(spec.yText(value), "end", left - 7, y(value) + 4)),
        ...spec.xTicks.filter((_, index) => index % every === 0).map((value) => text(xText(value), "middle", x(value), bottom + 17)),
        text(spec.xLabel, "middle", (left + right) / 2, height - 6), text(spec.yLabel, "start", 2, 12));
      if (spec.band) {
        axes.append(s("rect", { x: left, width: right - left, y: y(spec.band.to), height: bottom - y(spec.band.to), fill: `url(#${ids.hatch})` }),
          s("path", { class: "sm-edge", d: `M${left},${y(spec.band.to)}H${right}` }));
      }
      svg.setAttribute("width", width);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    }

    const parts = [], labels = [];
    for (const { points, dots, class: kind } of spec.lines) {
      if (points.length) parts.push(s("path", { class: "sm-line " + kind, d: "M" + points.map(at).join("L") }));
      if (dots) parts.push(s("path", { class: "sm-dots " + kind, d: points.map((point) => `M${at(point)}h0`).join("") }));
    }
    for (const mark of spec.marks) {
      const across = x(mark.at[0]), down = y(mark.at[1]);
      const shape = { class: "sm-mark " + mark.class, transform: `translate(${at(mark.at)})` };
      // A label below hugs the side on which its curve falls away, and stays out of the line.
      let side = mark.below || mark.above || (across < left + 70 ? "start" : across > right - 70 ? "end" : "middle");
      let lift = mark.below ? Math.min(21, bottom - down - 4) : -11, aside = mark.aside || 0;
      const reach = mark.label ? LETTER * mark.label.length : 0;
      if (mark.below === "end" && across < reach) [side, lift, aside] = ["start", -11, -aside];
      if (mark.clear) {
        // Out of an upright line: on the side away from it, or else above its end.
        const [line, end] = mark.clear, onRight = mark.at[0] > line;
        if ((onRight ? width - across : across) > reach) side = onRight ? "start" : "end";
        else if (Math.abs(across - x(line)) < reach) lift = Math.min(lift, y(end) - down - 7);
      }
      const r = mark.r || 6;
      if (!mark.bare) parts.push(mark.diamond ? s("path", { ...shape, d: `M0,${-r - 1}L${r + 1},0L0,${r + 1}L${-r - 1},0Z` }) : s("circle", { ...shape, r }));
      if (mark.label) {
        parts.push(s("text", { class: "sm-halo " + (mark.bare ? "" : "sm-strong"), x: across + aside, y: down + lift, "text-anchor": side }, mark.label));
        labels.push([across + aside - reach * { start: 0, middle: 0.5, end: 1 }[side], down + lift, reach]);
      }
    }
    // The band's own label stands in that corner of it where it meets the least: no label, few dots.
    if (spec.band) {
      const wide = 6.5 * spec.band.label.length + 8, high = 18;
      const dots = spec.lines.flatMap(({ points }) => points.map(([a, b]) => [x(a), y(b) + 5, 0]));
      const corners = [bottom - 7, y(spec.band.to) + 17].flatMap((down) => [[left, down, "start"], [right - wide, down, "end"]]);
      const met = ([start, down], all) => all.filter(([a, b, reach]) => a < start + wide && a + reach > start && Math.abs(b - down) < high).length;
      const costs = corners.map((corner) => 100 * met(corner, labels) + met(corner, dots));
      const [start, down, side] = corners[costs.indexOf(Math.min(...costs))];
      parts.unshift(s("text", { class: "sm-halo", x: side === "end" ? right - 8 : start + 8, y: down, "text-anchor": side }, spec.band.label));
    }
    title.textContent = spec.title;
    curves.replaceChildren(...parts);
  }

  // Asking for the width in every draw would make the browser lay the page out twice.
  const observer = new ResizeObserver(([box]) => {
    width = Math.round(box.contentRect.width) || width;
    if (last) draw(last);
  });
  observer.observe(node);
  return { node, draw, stop: () => observer.disconnect() };
}

/* Round numbers from 0 to at least `top`, at most six of them. */
function ticks(top) {
  const step = [0.25, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((size) => top / size <= 6) || top / 5;
  return Array.from({ length: Math.ceil(top / step - 1e-9) + 1 }, (_, index) => index * step);
}
