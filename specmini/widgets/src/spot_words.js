/* The words of a paragraph as a list of options with one Tab stop: arrows move word by word, up and
 * down sentence by sentence, Enter and Space choose. */

function wordList(content, { label, describedby, choose }) {
  let at = 0;
  const options = content.words.map((word) => h("span", { class: "sm-w", role: "option", tabindex: "-1", "aria-selected": "false" }, word));
  const node = h("div", { class: "sm-words", role: "listbox", "aria-multiselectable": "true", "aria-label": label, "aria-describedby": describedby },
    options.flatMap((option, position) => (position ? [" ", option] : [option])));

  function stopAt(position) {
    options[at].setAttribute("tabindex", "-1");
    at = Math.min(Math.max(position, 0), options.length - 1);
    options[at].setAttribute("tabindex", "0");
  }
  function sentence(step) {
    const here = sentenceOf(content, at) - 1, start = content.sentences[here];
    // Back goes to the start of this sentence first, as editors do.
    const target = step > 0 ? content.sentences[here + 1] : at > start ? start : content.sentences[here - 1];
    return target === undefined ? (step > 0 ? options.length - 1 : 0) : target;
  }
  const ways = { ArrowRight: () => at + 1, ArrowLeft: () => at - 1, ArrowDown: () => sentence(1), ArrowUp: () => sentence(-1), Home: () => 0, End: () => options.length - 1 };
  node.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const bySentence = event.ctrlKey && { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp" }[event.key];
    const way = ways[bySentence || event.key];
    if (way) {
      stopAt(way());
      options[at].focus();
    } else if (!event.ctrlKey && (event.key === "Enter" || event.key === " ")) choose(at);
    else return;
    event.preventDefault();
  });
  node.addEventListener("click", (event) => {
    const position = options.indexOf(event.target.closest("[role=option]"));
    if (position < 0) return;
    stopAt(position);
    options[at].focus();
    choose(at);
  });
  stopAt(0);
  return {
    node,
    /* `state(position)` is what a word is: marked, and a kind with its name once it was judged. */
    draw(state) {
      options.forEach((option, position) => {
        const { marked, kind, name, last } = state(position);
        option.className = ["sm-w", marked && "sm-marked", kind && `sm-${kind}`, last && "sm-last"].filter(Boolean).join(" ");
        option.setAttribute("aria-selected", String(marked));
        if (name) option.setAttribute("aria-label", `${content.words[position]}, ${name}`);
        else option.removeAttribute("aria-label");
      });
    },
    focus: () => options[at].focus(),
  };
}
