/* The answers of the interview, one kind of field for each kind of step. A field is {node, given,
 * judge, reveal}: its elements, the reader's answer, what is to be said about it ({score, lines,
 * read}; `read` is false for what could not be read), and what happens once the answer is shown. */

const TYPED = { formula: "Your formula", condition: "Your condition", number: "Your number" };
const HOW_TO_TYPE = "Type ^ for powers, a or alpha for α; 2K, Kc, fractions and sum_{i=0}^{K} α^i are understood.";

/* A check box with its text, and a line below for what is said about it. */
function tickBox(text, changed) {
  const id = uid("tick"), box = h("input", { type: "checkbox", id, onchange: changed });
  const says = h("p", { class: "sm-note" });
  return { box, says, node: h("li", {}, h("span", { class: "sm-tick" }, box, h("label", { for: id }, text)), says) };
}

function typedField(step, { points, told, submit }) {
  const id = uid("typed"), readingId = uid("reading");
  const reading = h("p", { class: "sm-note sm-reading", id: readingId }, HOW_TO_TYPE);
  const input = h("input", {
    type: "text", id, class: "sm-typed", spellcheck: "false", autocomplete: "off", autocapitalize: "none", "aria-describedby": readingId,
    oninput: () => { reading.textContent = input.value.trim() ? grader.reading(input.value) : HOW_TO_TYPE; },
    onkeydown: (event) => { if (event.key === "Enter") submit(); },
  });
  return {
    node: h("div", {}, h("label", { class: "sm-label", for: id }, TYPED[step.kind]), input, reading),
    given: () => input.value,
    judge() {
      const { kind, note, misconception, column } = grader.grade(input.value, step, points);
      if (kind === "unreadable") {
        const at = Array.from(input.value.slice(0, 500)).slice(0, column).join("").length;
        input.focus();
        input.setSelectionRange(at, at);
        return { read: false, score: 0, lines: [note] };
      }
      const lines = kind === "right" ? ["Right.", note] : kind === "known" ? ["Not yet.", ...told(misconception)] : ["Not yet.", note];
      return { read: true, score: Number(kind === "right"), lines };
    },
    reveal() {},
  };
}

function tickedField(step) {
  const count = h("p", { class: "sm-note" });
  const ticks = step.options.map(({ text }) => tickBox(text, () => show()));
  const given = () => step.options.filter((_, place) => ticks[place].box.checked).map(({ id }) => id);
  function show() {
    count.textContent = `${given().length} of ${ticks.length} ticked`;
    for (const { says } of ticks) says.textContent = "";
  }
  function reasons(all) {
    step.options.forEach(({ right, says }, place) => {
      const { box, says: line } = ticks[place];
      line.textContent = all || box.checked ? `${right ? "✓ Belongs here." : "✗ Does not belong here."} ${says.replace(/^(Yes|No)\. /, "")}` : "";
    });
  }
  show();
  return {
    node: h("div", {}, h("ul", { class: "sm-ticks" }, ticks.map(({ node }) => node)), count),
    given,
    judge() {
      if (!given().length) return { read: false, score: 0, lines: ["Tick at least one."] };
      const score = grader.score(step, given());
      reasons(score === 1);
      const standing = Math.round(score * ticks.length);
      return { read: true, score, lines: score === 1 ? ["Right."] : ["Not yet.", `${standing} of ${ticks.length} are as they should be, ticked or not.`] };
    },
    reveal: () => reasons(true),
  };
}

/* Lines that two buttons move up and down. */
function orderedField(step, { seed, say }) {
  const list = h("ol", { class: "sm-lines" });
  // A shuffle that happens to be right would be no task.
  let order = grader.shuffled(seed, step.lines.length);
  if (grader.standing(order) === order.length) order.reverse();
  const rows = step.lines.map((text, line) => {
    const start = text.split(" ").slice(0, 4).join(" ");
    const mover = (sign, by, way) => h("button", { type: "button", class: "sm-button", "aria-label": `Move ${way}: ${start}`, onclick: () => move(line, by, way) }, sign);
    const up = mover("↑", -1, "up"), down = mover("↓", 1, "down");
    return { node: h("li", {}, h("span", { class: "sm-movers" }, up, down), h("span", {}, text)), up, down };
  });
  function move(line, by, way) {
    const from = order.indexOf(line), to = from + by;
    [order[from], order[to]] = [order[to], order[from]];
    show();
    const { up, down } = rows[line], wanted = way === "up" ? up : down;
    (wanted.disabled ? (way === "up" ? down : up) : wanted).focus();
    say(`Line is now ${to + 1} of ${order.length}.`);
  }
  function show() {
    list.replaceChildren(...order.map((line) => rows[line].node));
    order.forEach((line, place) => {
      rows[line].up.disabled = place === 0;
      rows[line].down.disabled = place === order.length - 1;
    });
  }
  show();
  return {
    node: list,
    given: () => order.slice(),
    judge() {
      const standing = grader.standing(order), all = standing === order.length;
      const lines = all ? ["Right."] : ["Not yet.", standing ? `The first ${plural(standing, "line")} stand${standing === 1 ? "s" : ""} right; another belongs at place ${standing + 1}.` : "Another line comes first."];
      return { read: true, score: grader.score(step, order), lines };
    },
    reveal() {
      order = order.slice().sort((a, b) => a - b);
      show();
    },
  };
}

/* Free text, which the reader holds against a rubric. */
function spokenField(step, { said, ticked }) {
  const id = uid("spoken"), text = h("textarea", { id, class: "sm-spoken", rows: 6 });
  const ticks = step.rubric.map((point) => tickBox(point, () => ticked(points().length / ticks.length, said(points().length, ticks.length))));
  const points = () => ticks.flatMap(({ box }, place) => (box.checked ? [place] : []));
  const rubric = h("div", { hidden: true }, h("p", { class: "sm-label" }, "Tick what your answer says"), h("ul", { class: "sm-ticks" }, ticks.map(({ node }) => node)));
  return {
    node: h("div", {}, h("label", { class: "sm-label", for: id }, "Your answer"), text, rubric),
    given: points,
    spoken: () => text.value,
    judge() {
      rubric.hidden = false;
      return { read: true, score: points().length / ticks.length, lines: [said(points().length, ticks.length)], open: true };
    },
    reveal() { rubric.hidden = false; },
  };
}

const FIELDS_OF = { formula: typedField, condition: typedField, number: typedField, choice: tickedField, order: orderedField, text: spokenField };
