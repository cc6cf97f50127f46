/* At the end of a chapter: a button by which a reader notes that it was read, or takes that back. */

function read({ model, el, anchor }) {
  const page = model.get("page"), { node: said, say, stop: hush } = announcer(150);
  const isRead = () => "read" in progressOf(page).scores;
  const sign = h("span", { "aria-hidden": "true" });
  const button = h("button", { type: "button", class: "sm-button", onclick: () => {
    if (isRead()) recordUndone(page, "read");
    else recordDone(page, "read");
    say(isRead() ? "Noted in this browser." : "Taken back.");
  } }, sign, "I have read this");
  function draw() {
    sign.textContent = isRead() ? "✓ " : "";
    button.setAttribute("aria-pressed", String(isRead()));
  }
  const link = model.get("progress") && anchor ? [h("a", { class: "sm-link", href: model.get("progress") }, "Your progress")] : [];
  el.replaceChildren(h("div", { class: "sm sm-read", role: "group", "aria-label": "Progress" }, h("p", { class: "sm-actions" }, button, link), said));
  draw();
  const unlisten = onProgress(draw);
  return () => {
    unlisten();
    hush();
  };
}
