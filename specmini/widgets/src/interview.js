/* The interview: steps to practice one by one, and a timed mock interview over some of them. */

const MINUTES_A_STEP = 1.25;

/* Questions first, then all answers: what a printer gets. */
function interviewOnPaper({ steps }) {
  const list = (texts) => (texts.length ? h("ul", {}, texts.map((text) => h("li", {}, text))) : null);
  // In another order than the right one, which is the answer.
  const asked = ({ options = [], lines = [] }) => list([...options.map(({ text }) => text), ...lines.slice().sort()]);
  const told = ({ options = [], lines = [], rubric = [] }) => list([...options.map(({ right, text, says }) => `${right ? "✓" : "✗"} ${text} ${says}`), ...lines, ...rubric]);
  return h("div", { class: "sm-paper" },
    h("ol", {}, steps.map((step) => h("li", {}, h("strong", {}, step.title), " ", step.prompt, asked(step)))),
    h("p", { class: "sm-label" }, "Answers"),
    h("ol", {}, steps.map((step) => h("li", {}, rightAnswer(step), " ", step.answer, told(step)))));
}

function interview({ model, el, anchor }) {
  const content = model.get("content"), { steps, misconceptions, chapters, points } = content;
  const { node: said, say, stop: hush } = announcer();
  const link = (chapter) => (anchor ? h("a", { class: "sm-link", href: `${chapter}.html` }, chapters[chapter]) : h("em", {}, chapters[chapter]));
  const stage = h("div", { class: "sm-stage" }), button = (label, act) => h("button", { type: "button", class: "sm-button", onclick: act }, label);
  const practice = new Map();
  let rooms = [], place = 0, mock = null;

  const roomOf = (step, number, strict) => interviewStep(step, {
    number, points, misconceptions, link, seed: model.get("seed"), strict, say,
    kept(outcome, given) {
      change(model, { answers: { ...model.get("answers"), [step.id]: given } });
      if (typeof recordDone === "function" && !outcome.shown && outcome.tries) recordDone("interview", step.id, outcome.score);
      list();
    },
  });
  function practiced(number) {
    const step = steps[number];
    if (!practice.has(step.id)) practice.set(step.id, roomOf(step, number + 1, false));
    return practice.get(step.id);
  }
  const sizeOf = () => (mock ? rooms.length : steps.length);
  const room = (number) => (mock ? rooms[number] : practiced(number));

  const id = uid("step"), select = h("select", { id, onchange: () => go(Number(select.value)) });
  const nav = { back: button("Previous", () => go(place - 1)), next: button("Next", () => go(place + 1)) };
  const top = h("div", { class: "sm-actions sm-steps" }, h("span", { class: "sm-choice" }, h("label", { for: id }, "Step"), select), nav.back, nav.next);
  /* The list of steps, each with a sign once it was answered. */
  function list() {
    const sign = (outcome) => (!outcome || outcome.first === null ? "" : mock ? " •" : outcome.score === 1 ? " ✓" : " ◐");
    const steady = Array.from({ length: sizeOf() }, (_, number) => {
      const step = mock ? rooms[number].step : steps[number], known = mock ? rooms[number] : practice.get(step.id);
      return h("option", { value: number }, `${number + 1}. ${step.title}${sign(known && known.outcome)}`);
    });
    select.replaceChildren(...steady);
    select.value = place;
    nav.back.disabled = place === 0;
    nav.next.disabled = place === sizeOf() - 1;
  }
  function go(number, aloud = true) {
    place = Math.min(Math.max(number, 0), sizeOf() - 1);
    const { node, step } = room(place);
    stage.replaceChildren(node);
    list();
    if (aloud) say(`Step ${place + 1} of ${sizeOf()}: ${step.title}. ${step.prompt}`);
  }

  const minutesId = uid("minutes"), minutes = h("select", { id: minutesId, onchange: () => { change(model, { minutes: Number(minutes.value) }); announceSize(); } }, DATA.minutes.map((number) => h("option", { value: number }, `${number} minutes`)));
  minutes.value = model.get("minutes");
  const count = () => Math.min(steps.length, Math.round(model.get("minutes") / MINUTES_A_STEP));
  const size = h("span", { class: "sm-note" }), bar = h("div", { class: "sm-actions sm-mock" });
  const announceSize = () => { size.textContent = `${plural(count(), "question")}, no hints, the first answer counts.`; };
  function offer() {
    announceSize();
    bar.replaceChildren(h("span", { class: "sm-choice" }, h("label", { for: minutesId }, "Mock interview of"), minutes), button("Start", start), size);
  }
  function start() {
    const numbers = grader.picked(model.get("seed"), count(), steps.length);
    rooms = numbers.map((number, at) => roomOf(steps[number], at + 1, true));
    mock = countdown(model.get("minutes"), say);
    const pause = button("Pause", () => {
      if (mock.running()) mock.pause(); else mock.go();
      pause.textContent = mock.running() ? "Pause" : "Resume";
      stage.hidden = top.hidden = !mock.running() && mock.taken() < model.get("minutes") * 60;
      say(mock.running() ? "The clock runs." : "Paused.");
    });
    bar.replaceChildren(h("span", {}, h("strong", {}, "Time left "), mock.node), pause, button("End the interview", end));
    mock.go();
    go(0);
    pause.focus();
  }
  function end() {
    mock.pause();
    const { words, node } = mockSummary(rooms, mock.taken(), link);
    mock = null;
    top.hidden = true;
    stage.hidden = false;
    stage.replaceChildren(node);
    // The next mock interview asks other questions.
    change(model, { seed: (model.get("seed") + 1) % (DATA.ranges.seed.high + 1) });
    const back = button("Back to practice", () => {
      top.hidden = false;
      offer();
      go(0);
      select.focus();
    });
    bar.replaceChildren(back, button("Another mock interview", () => { top.hidden = false; start(); }));
    back.focus();
    say(words);
  }

  el.replaceChildren(h("div", { class: "sm sm-interview", role: "group", "aria-label": "Interview" }, top, stage, bar, said), interviewOnPaper(content));
  offer();
  go(0, false);
  return () => {
    if (mock) mock.pause();
    hush();
  };
}
