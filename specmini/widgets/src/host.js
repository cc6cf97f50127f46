/* The two places a widget can live. On a page of the built book this file is a classic script: it
 * finds the mount points and gives each widget a model that lives in the page. In a notebook the
 * same text is the body of a module and the model is the kernel's (an anywidget). */

function pageModel(state) {
  const listeners = {};
  return {
    get: (name) => state[name],
    set(name, value) {
      if (JSON.stringify(state[name]) === JSON.stringify(value)) return;
      state[name] = value;
      for (const react of (listeners["change:" + name] || []).slice()) react();
    },
    save_changes() {},
    on(event, react) { (listeners[event] = listeners[event] || []).push(react); },
    off(event, react) { listeners[event] = (listeners[event] || []).filter((known) => known !== react); },
  };
}

function mountAll(root) {
  const count = {};
  for (const host of root.querySelectorAll("[data-specmini]")) {
    const data = host.querySelector("script[type='application/json']");
    const name = host.dataset.specmini;
    count[name] = (count[name] || 0) + 1;
    if (!data || !widgets[name]) continue;
    const anchor = count[name] === 1 ? name : `${name}-${count[name]}`;
    const el = h("div");
    try {
      widgets[name]({ model: pageModel(JSON.parse(data.textContent).state), el, anchor });
    } catch (error) {
      // What the reader saw without a script is still there, and is better than half a widget.
      console.error("specmini", name, error);
      continue;
    }
    if (!document.getElementById(anchor)) host.id = anchor;
    host.replaceChildren(el);
  }
}

/* JupyterLab binds bare keys (arrows, Enter, letters) to notebook commands. */
function keepKeys(event) {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
}

// What a widget is built from, rather than what it shows: a change means building it again.
const PLANS = { explorer: ["controls"], roof: [], player: ["recording", "title"], overlap: ["contexts"], drafters: ["points"], advice: ["basis"], interview: ["content"], spot: ["content"], cards: ["cards"], progress: ["pages"], read: [] };

const esm = (name) => ({
  render({ model, el }) {
    el.addEventListener("keydown", keepKeys);
    const build = () => widgets[name]({ model, el, anchor: null });
    let stop = build();
    const unwatch = watch(model, PLANS[name], () => {
      stop();
      stop = build();
    });
    return () => {
      el.removeEventListener("keydown", keepKeys);
      unwatch();
      stop();
    };
  },
});

// Inside a module currentScript is null, so a notebook mounts nothing by itself.
if (typeof document !== "undefined" && document.currentScript) {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => mountAll(document));
  else mountAll(document);
}
