/* The text of the round player as it grows, each word or token in the state that it is in. */

/* A symbol for what would be invisible: a token of white space alone. */
const visible = (blank) => blank.replace(/\n/g, "⏎").replace(/\s/g, "␣");

/* A token cut into the white space before it, what is marked, and the white space after it. A line
 * break is marked where it stands, and what it indents stays plain. */
function cut(token) {
  const [, before, word] = /^(\s*)([^]*)$/.exec(token);
  if (word) return [before, word, ""];
  const lines = token.lastIndexOf("\n") + 1;
  return lines ? ["", visible(token.slice(0, lines)), token.slice(token.indexOf("\n"))] : ["", visible(token), ""];
}

const textBox = (label) => h("div", { class: "sm-text", tabindex: "0", role: "group", "aria-label": label });
const promptText = (before) => h("span", { class: "sm-prompt" }, before);

/* Old rounds are dropped beyond `most`; struck words go when the next round begins. Words that are
 * `spaced` get a blank after each, tokens bring their own. */
function writer({ spaced, most }) {
  const node = textBox("Text written so far");
  let box = null, guesses = [], fallen = [];
  function write(token, kind) {
    const [space, word, after] = cut(token);
    const mark = h("span", { class: "sm-word sm-" + kind }, word);
    box.append(h("span", {}, space, mark, after, spaced ? " " : ""));
    return mark;
  }
  return {
    node,
    open() {
      // The next round starts from text that reads as text.
      fallen.forEach((struck) => struck.remove());
      if (box) box.classList.remove("sm-current");
      while (node.childElementCount >= most) node.firstElementChild.remove();
      guesses = [];
      fallen = [];
      node.append((box = h("span", { class: "sm-current" })));
    },
    draft: (token) => guesses.push(write(token, "draft")),
    check(accepted) {
      guesses.forEach((mark, index) => {
        mark.className = "sm-word sm-" + (index < accepted ? "accepted" : index === accepted ? "rejected" : "discarded");
      });
      fallen = guesses.slice(accepted).map((mark) => mark.parentNode);
    },
    own(token, kind) {
      write(token, "own");
      if (!kind) return;
      fallen.push(h("small", { class: "sm-tag" }, kind + " "));
      box.append(fallen.at(-1));
    },
    clear(before) {
      box = null;
      node.replaceChildren(...(before ? [promptText(before)] : []));
    },
  };
}
