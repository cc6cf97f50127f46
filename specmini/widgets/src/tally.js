/* The lower half of the round player: what has been counted so far in numbers, the running mean on
 * its way to the value to expect, and the last rounds in words. */

/* `goal` labels the expected value in three places: as a number, as a line, and in a sentence. */
function tallyPanel(noun, goal) {
  const figure = chart(190);
  const history = h("ol", { class: "sm-history" });
  const cell = {};
  const stat = (key, label) => h("div", {}, h("dt", {}, label), (cell[key] = h("dd")));
  const numbers = h("dl", { class: "sm-tally" },
    stat("rounds", "rounds = target passes"), stat("words", noun + "s written"), stat("saved", "passes saved"),
    stat("mean", noun + "s per round so far"), stat("expected", goal.number));
  const key = h("p", { class: "sm-key" },
    h("span", { class: "sm-swatch sm-full" }, "mean so far"), h("span", { class: "sm-swatch sm-expected" }, goal.line));

  function draw({ rounds, words, means, history: last }, expected, longest) {
    const mean = rounds ? fixed(words / rounds) : null;
    const show = (name, value) => { cell[name].textContent = value.toLocaleString("en-US"); };
    show("rounds", rounds);
    show("words", words);
    show("saved", words - rounds);
    show("mean", mean || "–");
    show("expected", fixed(expected));
    history.replaceChildren(...last.map((round, index) => h("li", { value: rounds - last.length + 1 + index }, told(round))).reverse());

    const scale = [20, 50, 100, 200, 500, 1000, 2000, 5000].find((size) => rounds <= size) || rounds;
    const stride = Math.ceil(rounds / 300) || 1, yTicks = ticks(longest + 1);
    const points = means.map((value, index) => [index + 1, value]).filter(([n]) => n % stride === 0 || n === rounds);
    figure.draw({
      x: [0, scale], xTicks: [0, 0.25, 0.5, 0.75, 1].map((part) => part * scale), xLabel: "rounds",
      y: [0, yTicks.at(-1)], yTicks, yText: (value) => plain(value), yLabel: `${noun}s per round, mean so far`,
      lines: [{ class: "sm-expected", points: [[0, expected], [scale, expected]] }, { class: "sm-full", points }],
      marks: mean ? [{ at: points.at(-1), class: "sm-full", label: mean }] : [],
      title: `Mean ${noun}s per round after ${plural(rounds, "round")}: ${mean || "none yet"}; ${goal.sentence} ${fixed(expected)}.`,
    });
  }
  return { nodes: [numbers, figure.node, key, h("p", { class: "sm-label" }, "Last rounds"), history], draw, stop: figure.stop };
}
