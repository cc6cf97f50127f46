/* The settings of an explorer: what is allowed, a reader's choice, the link that restores them, and
 * Reset. */

// As people write numbers: Number() would also read "0x10" and blanks.
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function copy(link, say) {
  const done = () => say("Link copied.");
  if (navigator.clipboard) navigator.clipboard.writeText(link.href).then(done, () => say("The address bar now holds the link."));
}

/* Applies "#explorer?alpha=0.8&K=4" now and whenever the address changes. `meaning(name, text)` is
 * the value, and why it is refused; `react` gets the allowed values and the refusals, and says
 * whether anything changed. */
function followLinks(anchor, el, names, meaning, react) {
  function follow(event) {
    const start = `#${anchor}?`;
    if (!location.hash.startsWith(start)) return;
    const values = {}, refused = [];
    for (const [key, text] of new URLSearchParams(location.hash.slice(start.length))) {
      if (!names.includes(key)) { refused.push(`there is no setting “${echo(key)}”`); continue; }
      const { value, wrong } = meaning(key, text);
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

/* The desk of the explorer in `el`, at which its settings are read and changed. `names` are those
 * settings, in the order in which they are restored. One with `options` takes one of these, another
 * a number in its range; for one in `texts`, a function says why it refuses a text. `excluded(values)` says why values that are fine by themselves exclude each
 * other, or null; `mended(values)` has what must give way to a reader's choice, and what to say. */
function workbench({ model, el, anchor, names, options, texts = {}, say, excluded = () => null, mended = () => ({}) }) {
  const now = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const initial = now();
  const notice = h("p", { class: "sm-error", role: "alert" });
  const link = anchor ? h("a", { class: "sm-link", onclick: () => copy(link, say) }, "Copy link to this setting") : null;
  const reset = h("button", { type: "button", class: "sm-button", onclick: () => { notice.textContent = ""; apply(initial); } }, "Reset");
  let controls = [];
  function problem(name, value, given = value) {
    const allowed = options[name], must = texts[name] && texts[name](value);
    if (texts[name]) return must && `${name} must ${must}, got ${echo(given)}`;
    if (!allowed) return refusal(DATA.ranges[name], name, value, given);
    return allowed.includes(value) ? null : `${name} must be one of ${allowed.join(", ")}, got ${echo(given)}`;
  }
  function meaning(name, text) {
    const value = texts[name] ? text : options[name] ? options[name].find((option) => String(option) === text)
      : NUMBER.test(text) ? Number(text) : Number.NaN;
    return { value, wrong: problem(name, value, text) };
  }
  function apply(values) {
    change(model, Object.fromEntries(names.filter((name) => name in values).map((name) => [name, values[name]])));
    // A field may hold a refused entry while its setting never changed.
    for (const one of controls) one.show();
  }
  function takeLink(values, refused) {
    const wrong = excluded({ ...now(), ...values });
    const taken = wrong ? {} : values, complaints = wrong ? [...refused, wrong] : refused;
    const moved = complaints.length > 0 || Object.entries(taken).some(([name, value]) => model.get(name) !== value);
    apply(taken);
    notice.textContent = complaints.length ? `Not taken from the link: ${complaints.join("; ")}.` : "";
    return moved;
  }
  return {
    notice, actions: h("p", { class: "sm-actions" }, reset, link),
    /* All settings, or null while they are not possible. */
    read() {
      const values = now();
      return names.some((name) => problem(name, values[name])) || excluded(values) ? null : values;
    },
    pointLink(values) {
      if (link) link.setAttribute("href", `#${anchor}?` + names.map((name) => `${name}=${encodeURIComponent(values[name])}`).join("&"));
    },
    /* A reader's choice; what it makes impossible goes back to where it is possible, and that is said. */
    choose(values) {
      const { instead = {}, said = [] } = mended({ ...now(), ...values });
      notice.textContent = said.join(" ");
      change(model, { ...values, ...instead });
    },
    start(fields, draw) {
      controls = fields;
      draw(false);
      const unwatch = watch(model, names, () => draw());
      const leave = anchor ? followLinks(anchor, el, names, meaning, takeLink) : () => {};
      return () => {
        unwatch();
        leave();
        controls.forEach((one) => one.stop());
      };
    },
  };
}
