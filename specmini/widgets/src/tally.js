/* The lower half of the round player: what has been counted so far in numbers, a chart of it, and
 * the last rounds in words. */

/* `last` is the number that only this kind of player has: its label, and its value in a tally.
 * `lines` are the labels of the chart's solid and dashed line; `picture` draws it from a tally. */
function tallyPanel(noun, { last, lines, picture }) {
  const figure = chart(190);
  const history = h("ol", { class: "sm-history" });
  const cell = {};
  const stat = (key, label) => h("div", {}, h("dt", {}, label), (cell[key] = h("dd")));
  const numbers = h("dl", { class: "sm-tally" },
    stat("rounds", "rounds = target passes"), stat("words", noun + "s written"), stat("saved", "passes saved"),
    stat("mean", noun + "s per round so far"), stat("last", last.label));
  const key = h("p", { class: "sm-key" },
    h("span", { class: "sm-swatch sm-full" }, lines[0]), h("span", { class: "sm-swatch sm-expected" }, lines[1]));

  function draw(count, ...more) {
    const { rounds, words, history: recent } = count;
    const show = (name, value) => { cell[name].textContent = value.toLocaleString("en-US"); };
    show("rounds", rounds);
    show("words", words);
    show("saved", words - rounds);
    show("mean", rounds ? fixed(words / rounds) : "–");
    show("last", rounds || last.always ? last.value(count, ...more) : "–");
    history.replaceChildren(...recent.map((round, index) => h("li", { value: rounds - recent.length + 1 + index }, told(round))).reverse());
    figure.draw(picture(count, ...more));
  }
  return { nodes: [numbers, figure.node, key, h("p", { class: "sm-label" }, "Last rounds"), history], draw, stop: figure.stop };
}

/* The running mean of simulated rounds on its way to the value that the formula expects. */
function meanPanel() {
  const formula = ["expected, (1 − α", h("sup", {}, "K+1"), ")/(1 − α)"];
  return tallyPanel("word", {
    last: { label: "formula expects", always: true, value: (count, expected) => fixed(expected) },
    lines: ["mean so far", formula],
    picture({ rounds, words, means }, expected, longest) {
      const mean = rounds ? fixed(words / rounds) : null;
      const scale = [20, 50, 100, 200, 500, 1000, 2000, 5000].find((size) => rounds <= size) || rounds;
      const stride = Math.ceil(rounds / 300) || 1, yTicks = ticks(longest + 1);
      const points = means.map((value, index) => [index + 1, value]).filter(([n]) => n % stride === 0 || n === rounds);
      return {
        x: [0, scale], xTicks: [0, 0.25, 0.5, 0.75, 1].map((part) => part * scale), xLabel: "rounds",
        y: [0, yTicks.at(-1)], yTicks, yText: (value) => plain(value), yLabel: "words per round, mean so far",
        lines: [{ class: "sm-expected", points: [[0, expected], [scale, expected]] }, { class: "sm-full", points }],
        marks: mean ? [{ at: points.at(-1), class: "sm-full", label: mean }] : [],
        title: `Mean words per round after ${plural(rounds, "round")}: ${mean || "none yet"}; the formula expects ${fixed(expected)}.`,
      };
    },
  });
}

/* A recording's tokens against time, beside plain decoding. */
function racePanel() {
  return tallyPanel("token", {
    last: { label: "speedup so far", value: ({ words, ends }, { step }) => times((words * step) / ends.at(-1)[0]) },
    lines: ["with a draft", "plain decoding"],
    picture({ words, ends }, { last, tokens, step, plainly }, time) {
      const xTicks = ticks(last), yTicks = ticks(tokens.length);
      const count = plainly(time), points = [[0, 0], ...ends];
      return {
        x: [0, xTicks.at(-1)], xTicks, xLabel: "milliseconds", y: [0, yTicks.at(-1)], yTicks, yText: (value) => plain(value), yLabel: "tokens written",
        lines: [{ class: "sm-expected", points: [[0, 0], [count * step, count]] }, { class: "sm-full", points }],
        marks: words ? [{ at: points.at(-1), class: "sm-full", label: String(words) }] : [],
        title: `Tokens written against time. After ${milliseconds(time)}: ${words} with a draft, ${count} by plain decoding.`,
      };
    },
  });
}
