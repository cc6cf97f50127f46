/* The setting of a widget in an address: a link that restores it, and the button that undoes all. */

// As people write numbers: Number() would also read "0x10" and blanks.
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const unlisted = (name, options, value, given = value) =>
  options.includes(value) ? null : `${name} must be one of ${options.join(", ")}, got ${echo(given)}`;

/* What a link's text means for a number, with why it is refused, if it is. */
function meantNumber(name, text) {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  return { value, wrong: refusal(DATA.ranges[name], name, value, text) };
}

/* `names` are the settings, in the order in which they are restored; `read(name, text)` says what
 * the text of a link means; `fields` show what changed. */
function settingLinks({ model, el, anchor, names, fields, read, say }) {
  const initial = Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const notice = h("p", { class: "sm-error", role: "alert" });
  const link = anchor ? h("a", { class: "sm-link", onclick: () => copy(link, say) }, "Copy link to this setting") : null;
  const reset = h("button", { type: "button", class: "sm-button", onclick: () => { notice.textContent = ""; apply(initial); } }, "Reset");
  let leave = () => {};
  function apply(values) {
    change(model, Object.fromEntries(names.filter((name) => name in values).map((name) => [name, values[name]])));
    // A field may hold a refused entry while its setting never changed.
    for (const one of fields) one.show();
  }
  function update(now) {
    if (link) link.setAttribute("href", `#${anchor}?` + names.map((name) => `${name}=${encodeURIComponent(now[name])}`).join("&"));
  }
  function follow() {
    if (anchor) leave = followLinks(anchor, el, names, read, (values, refused) => {
      const moved = refused.length > 0 || Object.entries(values).some(([name, value]) => model.get(name) !== value);
      apply(values);
      notice.textContent = refused.length ? `Not taken from the link: ${refused.join("; ")}.` : "";
      return moved;
    });
  }
  return { notice, link, reset, update, follow, stop: () => leave() };
}

function copy(link, say) {
  const done = () => say("Link copied.");
  if (navigator.clipboard) navigator.clipboard.writeText(link.href).then(done, () => say("The address bar now holds the link."));
}

/* Applies "#explorer?alpha=0.8&K=4" now and whenever the address changes. `react` gets the allowed
 * values and the refusals, and says whether anything changed. */
function followLinks(anchor, el, names, read, react) {
  function follow(event) {
    const start = `#${anchor}?`;
    if (!location.hash.startsWith(start)) return;
    const values = {}, refused = [];
    for (const [key, text] of new URLSearchParams(location.hash.slice(start.length))) {
      if (!names.includes(key)) { refused.push(`there is no setting “${echo(key)}”`); continue; }
      const { value, wrong } = read(key, text);
      if (wrong) refused.push(wrong);
      else values[key] = value;
    }
    // Copying a link changes the address too, and must not make the page jump.
    if (react(values, refused) || !event) requestAnimationFrame(() => el.scrollIntoView({ block: "start" }));
  }
  follow();
  addEventListener("hashchange", follow);
  return () => removeEventListener("hashchange", follow);
}
