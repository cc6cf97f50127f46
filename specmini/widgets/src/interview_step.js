/* One step of the interview: question, field, what is said about the answer, hints, the answer. */

/* A prompt for any assistant that the reader uses. */
function assistantPrompt(step, answer) {
  return [
    "You are a strict but friendly interviewer on speculative decoding of language models.",
    `Question: ${step.prompt}`,
    `My answer:\n${answer.trim() || "(I have not written one yet. Ask me the question first.)"}`,
    `Hold my answer against each point of this rubric. Say met, half met or missing, and quote the words you rely on:\n${step.rubric.map((point, place) => `${place + 1}. ${point}`).join("\n")}`,
    `A model answer, not to be shown to me before I have tried:\n${step.answer}`,
    "Then name the one sentence of mine that an expert would object to most, and ask one follow-up question.",
  ].join("\n\n");
}

/* Copies a text; where that is refused, shows it selected, so that Ctrl+C does. */
function copyOrShow(text, place, say) {
  const show = () => {
    const area = h("textarea", { class: "sm-spoken", rows: 6, readonly: true, "aria-label": "Prompt to copy" });
    area.value = text;
    place.replaceChildren(h("p", { class: "sm-note" }, "The clipboard is not allowed here. The prompt is selected, copy it with the keyboard."), area);
    area.focus();
    area.select();
    say("The prompt is selected. Copy it with the keyboard.");
  };
  const done = () => {
    place.replaceChildren(h("p", { class: "sm-note" }, "Copied. Paste it where you like."));
    say("Prompt copied.");
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, show);
  else show();
}

/* The formula or number that is right, or null for other steps. */
function rightAnswer({ right }) {
  if (right === undefined) return null;
  return h("p", {}, h("code", {}, typeof right === "string" ? formula.write(formula.parse(right)) : plain(right, 4)));
}

/* `kept(outcome)` hears of each answer that counts. In a mock interview (`strict`) there are no
 * hints and no answer to look up, and the first answer counts. */
function interviewStep(step, { number, points, misconceptions, link, seed, strict, say, kept }) {
  const outcome = { id: step.id, tries: 0, hints: 0, shown: false, score: 0, first: null, note: "" };
  const feedback = h("div", { class: "sm-feedback" }), hints = h("ol", { class: "sm-hints" }), copied = h("div");
  let note = "";
  const told = (id) => {
    const { says, chapter } = misconceptions[id];
    note = says;
    return [says, link(chapter)];
  };
  const said = (met, all) => `${met} of ${all} points ticked.`;
  function keep(score) {
    outcome.score = score;
    if (outcome.first === null) outcome.note = note;
    if (outcome.first === null || step.kind === "text") outcome.first = score;
    kept(outcome, field.given());
  }
  function tell(lines, kind) {
    const [first, ...rest] = lines.filter(Boolean);
    feedback.className = `sm-feedback sm-feedback-${kind}`;
    const parts = rest.flatMap((part) => [" ", part]);
    feedback.replaceChildren(h("p", {}, h("strong", {}, first), ...parts));
    say([first, ...rest.filter((part) => typeof part === "string")].join(" "));
  }
  function ticked(score, words) {
    keep(score);
    tell([words], score === 1 ? "right" : "open");
    modelAnswer();
  }
  function check() {
    note = "";
    const { read, score, lines, open } = field.judge();
    if (!read) return tell(lines, "unread");
    outcome.tries += 1;
    keep(score);
    tell(lines, open ? "open" : score === 1 ? "right" : "wrong");
    if (open || score === 1) modelAnswer();
  }
  const field = FIELDS_OF[step.kind](step, { points, told, submit: () => check(), seed, say, said, ticked });

  function modelAnswer() {
    feedback.append(...[rightAnswer(step), h("p", {}, step.kind === "text" ? "For comparison: " : null, step.answer, " ", link(step.chapter))].filter(Boolean));
  }
  function hint() {
    if (outcome.hints === step.hints.length) return;
    hints.append(h("li", {}, step.hints[outcome.hints]));
    say(step.hints[outcome.hints]);
    outcome.hints += 1;
    if (outcome.hints === step.hints.length) actions.hint.disabled = true;
    actions.hint.textContent = hintLabel();
  }
  const hintLabel = () => (outcome.hints === step.hints.length ? "No more hints" : `Hint ${outcome.hints + 1} of ${step.hints.length}`);
  function show() {
    outcome.shown = true;
    field.reveal();
    tell(["The answer:"], "open");
    modelAnswer();
    say(`The answer: ${step.answer}`);
    kept(outcome, field.given());
  }

  const button = (label, act) => h("button", { type: "button", class: "sm-button", onclick: act }, label);
  const actions = {
    check: button(step.kind === "text" ? "Compare with the rubric" : "Check", check),
    hint: strict ? null : button(hintLabel(), hint),
    show: strict ? null : button("Show the answer", show),
    copy: step.kind === "text" && !strict ? button("Copy a prompt for an assistant", () => copyOrShow(assistantPrompt(step, field.spoken()), copied, say)) : null,
  };
  const title = h("p", { class: "sm-label" }, `${number}. ${step.title}`);
  const node = h("div", {}, title, h("p", {}, step.prompt), field.node,
    h("div", { class: "sm-actions" }, Object.values(actions)), copied, hints, feedback);
  return { node, outcome, step };
}
