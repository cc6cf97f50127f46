/* The settings of an explorer: what is allowed, which of them exclude each other, the link that
 * restores them, and Reset. */

// As people write numbers: Number() would also read "0x10" and blanks.
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const OPTIONS = {
  machine: Object.keys(DATA.machines).filter((key) => DATA.machines[key].peak_flops !== null),
  model: Object.keys(DATA.models), weight_bits: DATA.bits, arithmetic_bits: DATA.bits, devices: DATA.devices,
};

function problem(name, value, given = value) {
  const options = OPTIONS[name];
  if (!options) return refusal(DATA.ranges[name], name, value, given);
  return options.includes(value) ? null : `${name} must be one of ${options.join(", ")}, got ${echo(given)}`;
}

/* Why settings that are fine by themselves exclude each other, or null. */
function impossible({ machine, model, arithmetic_bits: bits = 16, devices }) {
  const device = DATA.machines[machine], shape = DATA.models[model];
  if (roofline.peak(device, bits) === null) return `arithmetic_bits must be 16 on ${device.name}, of which no ${bits}-bit peak is documented, got ${bits}`;
  if (devices > 1 && device.interconnect === null) return `devices must be 1 on ${device.name}, whose interconnect is not documented, got ${devices}`;
  return shape.heads % devices ? `devices must divide the ${shape.heads} heads of ${shape.name}, got ${devices}` : null;
}

function copy(link, say) {
  const done = () => say("Link copied.");
  if (navigator.clipboard) navigator.clipboard.writeText(link.href).then(done, () => say("The address bar now holds the link."));
}

/* Applies "#explorer?alpha=0.8&K=4" now and whenever the address changes. `react` gets the allowed
 * values and the refusals, and says whether anything changed. */
function followLinks(anchor, el, names, react) {
  function follow(event) {
    const start = `#${anchor}?`;
    if (!location.hash.startsWith(start)) return;
    const values = {}, refused = [];
    for (const [key, text] of new URLSearchParams(location.hash.slice(start.length))) {
      if (!names.includes(key)) { refused.push(`there is no setting “${echo(key)}”`); continue; }
      const value = OPTIONS[key] ? OPTIONS[key].find((option) => String(option) === text)
        : NUMBER.test(text) ? Number(text) : Number.NaN;
      const wrong = problem(key, value, text);
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

/* `names` are the settings of the model that belong to the explorer in `el`. */
function workbench({ model, el, anchor, names, say }) {
  const now = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const initial = now();
  const notice = h("p", { class: "sm-error", role: "alert" });
  const link = anchor ? h("a", { class: "sm-link", onclick: () => copy(link, say) }, "Copy link to this setting") : null;
  const reset = h("button", { type: "button", class: "sm-button", onclick: () => { notice.textContent = ""; apply(initial); } }, "Reset");
  let controls = [];
  function apply(values) {
    change(model, values);
    // A field may hold a refused entry while its setting never changed.
    for (const one of controls) one.show();
  }
  return {
    notice, actions: h("p", { class: "sm-actions" }, reset, link),
    read() {
      const values = now();
      return names.some((name) => problem(name, values[name])) || impossible(values) ? null : values;
    },
    pointLink(values) {
      if (link) link.setAttribute("href", `#${anchor}?` + names.map((name) => `${name}=${encodeURIComponent(values[name])}`).join("&"));
    },
    /* A reader's choice; what it makes impossible goes back to where it is possible, and that is said. */
    choose(values) {
      const next = { ...now(), ...values }, device = DATA.machines[next.machine], said = [];
      if (roofline.peak(device, next.arithmetic_bits || 16) === null) {
        said.push(`Back to 16-bit arithmetic: no ${next.arithmetic_bits}-bit peak of ${device.name} is documented.`);
        next.arithmetic_bits = 16;
      }
      const wrong = impossible(next);
      if (wrong) {
        said.push(`Back to one device: ${wrong}.`);
        next.devices = 1;
      }
      notice.textContent = said.join(" ");
      change(model, next);
    },
    start(fields, draw) {
      controls = fields;
      draw(false);
      const unwatch = watch(model, names, () => draw());
      const leave = anchor ? followLinks(anchor, el, names, (values, refused) => {
        const excluded = impossible({ ...now(), ...values });
        const taken = excluded ? {} : values;
        const complaints = excluded ? [...refused, excluded] : refused;
        const moved = complaints.length > 0 || Object.entries(taken).some(([name, value]) => model.get(name) !== value);
        apply(taken);
        notice.textContent = complaints.length ? `Not taken from the link: ${complaints.join("; ")}.` : "";
        return moved;
      }) : () => {};
      return () => {
        unwatch();
        leave();
        controls.forEach((one) => one.stop());
      };
    },
  };
}
