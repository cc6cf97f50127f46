/* What a reader has done of the book, with buttons to take it along, to bring it back, to forget it. */

/* The chapters of the site, which only the site knows: id and title of each, in order. */
function chaptersHere() {
  const node = typeof document === "undefined" ? null : document.getElementById("specmini-contents");
  return node ? JSON.parse(node.textContent) : [];
}

/* A row for each page: id, title, whether the site has it, and what was done there, in words. */
function progressRows(chapters, practice) {
  const known = [...chapters, ...practice].map(({ id }) => id), elsewhere = progressPages().filter((id) => !known.includes(id));
  const score = ({ done, mean }) => (done ? `, mean score ${wholePercent(mean)}` : "");
  const read = chapters.map(({ id, title }) => ({ id, title, linked: true, words: "read" in progressOf(id).scores ? "✓ read" : "not yet" }));
  const done = practice.map(({ id, title, items }) => {
    const { scores } = progressOf(id), values = items.filter((item) => item in scores).map((item) => scores[item]);
    const mean = values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
    return { id, title, linked: true, words: `${values.length} of ${items.length} done${score({ done: values.length, mean })}` };
  });
  const rest = elsewhere.map((id) => ({ id, title: id, linked: false, words: `${progressOf(id).done} done${score(progressOf(id))}` }));
  return [...read, ...done, ...rest];
}

function progress({ model, el, anchor }) {
  const chapters = anchor ? chaptersHere() : [], practice = model.get("pages");
  const { node: said, say, stop: hush } = announcer(150);
  const sum = h("p", { class: "sm-sum" }), body = h("tbody"), note = h("p", { class: "sm-note" }), error = h("p", { class: "sm-error", role: "alert" });
  const button = (label, act) => h("button", { type: "button", class: "sm-button", onclick: act }, label);
  const file = h("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "Progress file" });
  const asked = h("p", { class: "sm-actions", hidden: true, role: "group", "aria-label": "Reset" }, h("span", {}, "Forget everything listed here?"),
    button("Forget it", () => { resetProgress(); ask(false); say("All progress is forgotten."); }), button("Keep it", () => ask(false)));
  const reset = button("Reset", () => ask(true));

  function ask(open) {
    asked.hidden = !open;
    (open ? asked.querySelector("button:last-of-type") : reset).focus();
  }
  function save() {
    const address = URL.createObjectURL(new Blob([exportProgress()], { type: "application/json" }));
    const link = h("a", { href: address, download: "specmini-progress.json", hidden: true });
    el.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    say("Progress exported as specmini-progress.json.");
  }
  file.addEventListener("change", async () => {
    const [given] = file.files;
    if (!given) return;
    try {
      if (given.size > 4 * MOST_TEXT) throw new Error("progress must be a file of at most 2 MB");
      const count = importProgress(await given.text());
      error.textContent = "";
      say(`${plural(count, "item")} read from the file; of each the better score was kept.`);
    } catch (refused) {
      error.textContent = `Not imported: ${refused.message}.`;
    }
    file.value = "";
  });

  function draw() {
    const read = chapters.filter(({ id }) => "read" in progressOf(id).scores).length;
    const items = practice.reduce((all, page) => all + page.items.length, 0);
    const done = practice.reduce((all, page) => all + page.items.filter((item) => item in progressOf(page.id).scores).length, 0);
    sum.textContent = `${chapters.length ? `${read} of ${plural(chapters.length, "chapter")} read, ` : ""}${done} of ${plural(items, "exercise")} done.`;
    body.replaceChildren(...progressRows(chapters, practice).map(({ id, title, linked, words }) =>
      h("tr", {}, h("th", { scope: "row" }, linked && anchor ? h("a", { href: `${id}.html` }, title) : title), h("td", {}, words))));
    note.textContent = progressIsKept() ? "Kept in this browser and nowhere else. There is no account and no counter."
      : "This browser keeps nothing for this site: progress lasts until you leave the page. Export it before.";
  }
  el.replaceChildren(h("div", { class: "sm sm-progress", role: "group", "aria-label": "Your progress" }, sum,
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "page"), h("th", { scope: "col" }, "done"))), body),
    note, h("p", { class: "sm-actions" }, button("Export", save), button("Import", () => file.click()), reset, file), asked, error, said));
  draw();
  const unlisten = onProgress(draw);
  return () => {
    unlisten();
    hush();
  };
}
