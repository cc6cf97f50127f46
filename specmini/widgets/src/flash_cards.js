/* Flash cards. On a page what was learned lives in the browser's storage, and where that is refused,
 * until the page is left; in a notebook it is a trait of the kernel. */

const CARDS_KEY = "specmini:cards";
// The day of the reader's own calendar, counted from 1970-01-01.
const today = () => Math.floor((Date.now() - new Date().getTimezoneOffset() * 60000) / 86400000);
const inDays = (days) => (days === 1 ? "tomorrow" : `in ${plural(days, "day")}`);

/* Where memories are kept: `read()` gives a Map, `write(map)` keeps it, `forget()` drops all. */
function memoryBox(model, onPage) {
  let here = new Map();
  const stored = (act) => {
    try {
      return act();
    } catch {
      return null;  // refused, full, or not what was stored: the page goes on without it
    }
  };
  if (!onPage) {
    return {
      read: () => schedule.from(model.get("memories") || {}),
      write: (memories) => change(model, { memories: Object.fromEntries(memories) }),
    };
  }
  return {
    // Read each time, since another tab may have learned in between.
    read: () => stored(() => schedule.loads(localStorage.getItem(CARDS_KEY))) || here,
    write(memories) {
      here = memories;
      stored(() => localStorage.setItem(CARDS_KEY, schedule.dumps(memories)));
    },
  };
}

/* Export, import and reset, built when the reader unfolds them. */
function keeping(box, ids, told, changed) {
  const field = h("textarea", { class: "sm-area", rows: "4", spellcheck: "false", "aria-label": "Progress as text" });
  const error = h("p", { class: "sm-error", role: "alert" });
  const saved = h("p", { class: "sm-note" });
  let sure = false;
  const act = (words, press) => h("button", { type: "button", class: "sm-button", onclick: press }, words);
  const unsure = () => { sure = false; reset.textContent = "Reset"; };
  function settle(message) {
    unsure();
    error.textContent = "";
    told(message);
  }
  const exporting = act("Export", () => {
    const memories = box.read();
    field.value = schedule.dumps(memories);
    const file = URL.createObjectURL(new Blob([field.value], { type: "application/json" }));
    saved.replaceChildren(h("a", { class: "sm-link", href: file, download: "specmini-cards.json" }, "Save as a file"));
    settle(`${plural(memories.size, "card")} exported into the text field.`);
  });
  const importing = act("Import", () => {
    let memories;
    try {
      memories = schedule.loads(field.value);
    } catch (wrong) {
      unsure();
      error.textContent = `Nothing imported: ${wrong.message}.`;
      return;
    }
    const unknown = [...memories.keys()].filter((id) => !ids.has(id)).length;
    box.write(memories);
    settle(`${plural(memories.size, "card")} imported${unknown ? `, ${unknown} of them not in this book` : ""}.`);
    changed();
  });
  const reset = act("Reset", () => {
    if (!sure) {
      sure = true;
      reset.textContent = "Really forget everything?";
      told("Press again to forget everything.");
      return;
    }
    box.write(new Map());
    field.value = "";
    settle("Everything forgotten.");
    changed();
  });
  reset.addEventListener("blur", unsure);
  return [h("p", { class: "sm-note" }, "What you learned stays in this browser. To move it, export here and import there."),
    field, error, h("div", { class: "sm-actions" }, exporting, importing, reset), saved];
}

function cards({ model, el, anchor }) {
  const all = model.get("cards"), ids = new Set(all.map(({ id }) => id));
  const byId = new Map(all.map((card) => [card.id, card]));
  const decks = [...new Map(all.map(({ deck, title }) => [deck, title]))];
  const box = memoryBox(model, anchor !== null);
  const { node: said, say, stop: hush } = announcer();
  let current = null, open = false, extra = 0, turns = null;

  const count = h("p", { class: "sm-verdict" }), where = h("p", { class: "sm-note" });
  const question = h("div", { class: "sm-question" }), answer = h("div", { class: "sm-answer" });
  const actions = h("div", { class: "sm-actions" });
  const told = (message) => { status.textContent = message; say(message); };
  const status = h("p", { class: "sm-status" });
  const html = (node, text) => {
    node.innerHTML = text;
    // In a notebook there is no page beside this one to lead to.
    if (anchor === null) node.querySelectorAll("a[href]:not([href^=http])").forEach((link) => link.replaceWith(...link.childNodes));
  };
  const button = (words, act) => h("button", { type: "button", class: "sm-button", onclick: act }, words);

  /* Looks up whose turn it is. */
  function turn() {
    const deck = model.get("deck");
    turns = schedule.queue(box.read(), all.filter((card) => deck === "" || card.deck === deck).map(({ id }) => id), today(), model.get("new_per_day") + extra);
    const { due, fresh, drill } = turns, next = [...due, ...fresh, ...drill];
    // A card that was not known comes back, but not at once if another is left.
    current = byId.get(next.find((id) => !current || id !== current.id) || next[0]) || null;
    open = false;
    draw();
  }
  function draw() {
    const { due, fresh, drill } = turns;
    count.replaceChildren(h("strong", {}, `${plural(due.length, "card")} due, ${fresh.length} new, ${drill.length} to repeat today.`), ` ${all.length} in all.`);
    const known = current && box.read().get(current.id);
    question.classList.toggle("sm-none", !current);
    if (!current) {
      where.textContent = "";
      question.textContent = nothingLeft();
      answer.replaceChildren();
      actions.replaceChildren(more);
      return;
    }
    where.replaceChildren(current.title, known ? `, last seen ${known.last === today() ? "today" : `${plural(today() - known.last, "day")} ago`}` : ", new");
    html(question, current.question);
    if (!open) {
      answer.replaceChildren();
      if (show.parentNode !== actions) actions.replaceChildren(show);
      return;
    }
    html(answer, current.answer);
    if (anchor !== null) answer.append(h("p", {}, h("a", { class: "sm-link", href: current.place }, `Shown in “${current.title}”`)));
    actions.replaceChildren(...DATA.schedule.grades.map((grade, index) => {
      const next = schedule.review(known, grade, today());
      const when = next.drill ? "today" : inDays(dueDay(next) - today());
      return button(`${index + 1} ${grade[0].toUpperCase()}${grade.slice(1)}: ${when}`, () => rate(grade));
    }));
  }
  function nothingLeft() {
    const days = [...box.read()].filter(([id]) => ids.has(id)).map(([, memory]) => dueDay(memory)).filter((day) => day > today());
    return days.length ? `Done for today. The next card is due ${inDays(Math.min(...days) - today())}.` : "Done for today.";
  }
  const show = button("Show answer", reveal);
  const more = button("Begin ten more", () => { extra += 10; turn(); focusFirst(); });
  const focusFirst = () => actions.firstElementChild.focus();
  function reveal() {
    open = true;
    draw();
    status.textContent = "How well did you know it?";
    say(`Answer: ${answer.textContent}`);
    actions.children[DATA.schedule.grades.indexOf("good")].focus();
  }
  function rate(grade) {
    const memories = new Map(box.read()), day = today();
    memories.set(current.id, schedule.review(memories.get(current.id), grade, day));
    box.write(memories);
    change(model, { answers: [...(model.get("answers") || []), { card: current.id, grade, day }] });
    turn();
    told(`${grade[0].toUpperCase()}${grade.slice(1)}. ${current ? `Next question: ${question.textContent}` : question.textContent}`);
    status.textContent = current ? "Answer in your head, then look." : "";
    focusFirst();
  }
  function keys(event) {
    const grade = DATA.schedule.grades[Number(event.key) - 1];
    const typing = event.target.closest("input, textarea, select");
    if (!open || !grade || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    rate(grade);
  }

  const fields = [
    numberField(model, DATA.ranges.new_per_day, { name: "new_per_day", label: "New cards a day", step: 1 }),
    choice(model, { name: "deck", label: "Deck", choose: (values) => { change(model, values); current = null; turn(); },
      options: () => [["", `all ${decks.length} chapters`], ...decks].map(([value, text]) => ({ value, text })) }),
  ];
  const inside = h("div");
  const details = h("details", { ontoggle: () => {
    if (details.open && !inside.childElementCount) inside.replaceChildren(...keeping(box, ids, told, () => { current = null; turn(); }));
  } }, h("summary", {}, "Export, import, reset"), inside);
  // Only for paper: every card with its answer.
  const printed = h("dl", { class: "sm-printed" }, all.flatMap((card) => {
    const term = h("dt"), text = h("dd");
    html(term, card.question);
    html(text, card.answer);
    return [term, text];
  }));
  el.replaceChildren(h("div", { class: "sm sm-cards", role: "group", "aria-label": "Flash cards", onkeydown: keys },
    count, h("div", { class: "sm-fields" }, fields.map((one) => one.node)),
    h("div", { class: "sm-card" }, where, question, answer), actions, status, details, printed, said));
  turn();
  status.textContent = "Answer in your head, then look. With the answer open, the keys 1 to 4 say how well it went.";
  const unwatch = watch(model, ["new_per_day", "deck"], () => {
    if (!refusal(DATA.ranges.new_per_day, "", model.get("new_per_day"))) turn();
  });
  // A kernel that gives memories back; what this widget wrote itself changes nothing.
  const unlearn = watch(model, ["memories"], () => { if (!open) turn(); });
  return () => {
    hush();
    unwatch();
    unlearn();
    fields.forEach((one) => one.stop());
  };
}
