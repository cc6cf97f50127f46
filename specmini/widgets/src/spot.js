/* Spot the errors: mark words, have them checked, look for the missed ones again, read why. */

const SPOT_PAGE = "spot";
// What a judged phrase is called; its sign stands before its first word.
const JUDGED = { found: "error, found", right: "right as it stands", missed: "error, missed" };

function spot({ model, el, anchor }) {
  const content = model.get("content"), phrases = new Map(content.spans.map((span) => [span.id, span]));
  const { node: said, say, stop: hush } = announcer(150);
  const keysId = uid("keys");
  let judged = new Map(), strays = new Set(), hints = 0, over = false, scored = "";

  const task = h("p", { class: "sm-task" }, "Mark every phrase that is wrong. Some that sound wrong are right.");
  const keys = h("p", { class: "sm-hidden", id: keysId }, "Left and right move word by word, up and down sentence by sentence, Enter or Space marks.");
  const list = wordList(content, { label: `${content.title}: the paragraph, word by word`, describedby: keysId, choose });
  const button = (label, act) => h("button", { type: "button", class: "sm-button", onclick: act }, label);
  const check = button("Check", checkMarks), hint = button("Hint", giveHint), all = button("All reasons", showAll), again = button("Start again", startAgain);
  const told = h("p", { class: "sm-told" }), reasons = h("ol", { class: "sm-reasons" });

  // What a word was judged to be, or nothing yet.
  const kindOf = (position) => {
    const span = spanAt(content, position);
    return span ? judged.get(span.id) : strays.has(position) ? "right" : undefined;
  };
  function choose(position) {
    const span = spanAt(content, position), words = span ? phraseOf(content, span) : bare(content.words[position]);
    if (kindOf(position)) return say(`“${words}” is judged already: ${JUDGED[kindOf(position)]}.`);
    if (over) return say("All reasons are shown. Start again to mark.");
    const marks = toggled(content, model.get("marks"), position);
    change(model, { marks });
    say(`${marks.includes(position) ? "Marked" : "Unmarked"}: ${words}. ${plural(graded(content, marks).marks, "mark")}.`);
  }
  function checkMarks() {
    const marks = model.get("marks"), grade = graded(content, marks), words = gradeWords(grade);
    if (grade.marks) {
      for (const id of grade.found) judged.set(id, "found");
      for (const id of grade.wrongly) judged.set(id, "right");
      // What was judged stays marked, so that a later try cannot undo a wrong mark's cost.
      strays = new Set(marks.filter((position) => !spanAt(content, position)));
      change(model, { tries: (model.get("tries") || 0) + 1 });
      if (anchor) recordDone(SPOT_PAGE, content.id, grade.score);
      over = grade.missed.length === 0;
    }
    const stray = grade.strays ? ` ${plural(grade.strays, "mark")} outside the judged phrases: nothing is wrong there.` : "";
    if (grade.marks) scored = words + stray;
    const next = !grade.marks ? "" : ` ${plural(grade.missed.length, "error")} still to find.`;
    if (over) showAll();
    else tell(words + stray + next);
  }
  function giveHint() {
    hints = Math.min(hints + 1, HINTS);
    tell(hintWords(content, model.get("marks"), hints));
  }
  function showAll() {
    over = true;
    for (const span of content.spans) {
      if (!judged.has(span.id)) judged.set(span.id, isError(span) ? "missed" : "right");
    }
    told.textContent = scored;
    draw();
    say(`${told.textContent} ${plural(content.spans.length, "reason")} listed below the paragraph.`);
  }
  function startAgain() {
    judged = new Map();
    strays = new Set();
    hints = 0;
    over = false;
    scored = "";
    change(model, { tries: 0 });
    change(model, { marks: [] });
    tell("Nothing is marked.");
    list.focus();
  }
  function tell(words) {
    told.textContent = words;
    draw();
    say(words);
  }
  function draw() {
    const marks = new Set(model.get("marks"));
    list.draw((position) => {
      const span = spanAt(content, position), kind = kindOf(position);
      return { marked: marks.has(position), kind, name: kind && JUDGED[kind], last: !span || position === span.last };
    });
    const left = over && [check, hint, all].includes(document.activeElement);
    check.hidden = hint.hidden = all.hidden = over;
    if (left) again.focus();
    reasons.replaceChildren(...[...phrases.values()].filter(({ id }) => judged.has(id)).map((span) => reason(span, judged.get(span.id))));
  }
  function reason(span, kind) {
    const suffix = anchor ? ".html" : ".ipynb";
    const where = span.links.flatMap(([page, label, words], index) => [index ? " and " : "", h("a", { href: page + suffix + (anchor && label ? `#${label}` : "") }, words)]);
    return h("li", { class: `sm-${kind}` }, h("strong", {}, `${isError(span) ? "✗" : "✓"} ${span.verdict}`),
      ` (${kind === "right" ? "it only sounds wrong" : kind}): “${phraseOf(content, span)}”. ${span.why} See `, where, ".");
  }

  el.replaceChildren(h("div", { class: "sm sm-spot", role: "group", "aria-label": `Spot the errors: ${content.title}` },
    task, keys, list.node, h("div", { class: "sm-foot" }, h("p", { class: "sm-actions" }, check, hint, all, again), told), reasons, said));
  draw();
  const unwatch = watch(model, ["marks"], draw);
  return () => {
    unwatch();
    hush();
  };
}
