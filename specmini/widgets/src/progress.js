/* What a reader has done, kept in this browser and nowhere else: for each page, the best score of
 * each item, 0 to 1. Where storage is refused it lasts until the page is left. */

const PROGRESS_KEY = "specmini:progress", PROGRESS_VERSION = 1;
// Ids come from files, too: __proto__ is none, and a page cannot fill a reader's disk.
const PROGRESS_ID = /^[a-z0-9]+(-[a-z0-9]+)*$/, MOST_ID = 64, MOST_ITEMS = 2000, MOST_TEXT = 500000;

const progressStore = (function () {
  const listeners = new Set();
  let pages = null, kept = true;

  function read() {
    try {
      return progressFrom(localStorage.getItem(PROGRESS_KEY) || "");
    } catch {
      // Refused, or written by something else: nothing of it is known.
      return new Map();
    }
  }
  function write() {
    try {
      localStorage.setItem(PROGRESS_KEY, text());
      kept = true;
    } catch {
      kept = false;
    }
    for (const react of [...listeners]) react();
  }
  // Other tabs write too, so what is stored counts as long as it can be.
  const now = () => (kept || pages === null ? (pages = read()) : pages);
  const text = () => JSON.stringify({ version: PROGRESS_VERSION, pages: Object.fromEntries([...pages].map(([id, items]) => [id, Object.fromEntries(items)])) });

  if (typeof addEventListener === "function") {
    addEventListener("storage", ({ key }) => {
      if (key === PROGRESS_KEY || key === null) for (const react of [...listeners]) react();
    });
  }
  // A store can refuse before anything was done, and a reader should know early.
  function keeps() {
    try {
      localStorage.setItem(PROGRESS_KEY + ":probe", "1");
      localStorage.removeItem(PROGRESS_KEY + ":probe");
      return kept;
    } catch {
      return false;
    }
  }
  return { now, write, text, keeps, listen(react) { listeners.add(react); return () => listeners.delete(react); } };
})();

const isProgressId = (id) => typeof id === "string" && id.length <= MOST_ID && PROGRESS_ID.test(id);
const isScore = (score) => typeof score === "number" && score >= 0 && score <= 1;

/* A file's content as Map of page to Map of item to score; throws an Error that says what is wrong. */
function progressFrom(given) {
  if (typeof given !== "string") throw new Error("progress must be text");
  if (given.length > MOST_TEXT) throw new Error(`progress must have at most ${MOST_TEXT} characters, got ${given.length}`);
  const pages = new Map();
  if (!given) return pages;
  let content;
  try {
    content = JSON.parse(given);
  } catch {
    throw new Error("progress must be JSON, as Export writes it");
  }
  const fields = (value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : null);
  if (!fields(content) || content.version !== PROGRESS_VERSION || !fields(content.pages)) {
    throw new Error(`progress must have "version": ${PROGRESS_VERSION} and "pages", as Export writes it`);
  }
  let count = 0;
  for (const [page, items] of fields(content.pages)) {
    if (!isProgressId(page)) throw new Error(`a page must be named by small letters, digits and hyphens, got ${echo(page)}`);
    if (!fields(items)) throw new Error(`page ${page} must hold items with scores`);
    const scores = new Map();
    for (const [item, score] of fields(items)) {
      if (!isProgressId(item)) throw new Error(`an item of ${page} must be named by small letters, digits and hyphens, got ${echo(item)}`);
      if (!isScore(score)) throw new Error(`the score of ${page}, ${item} must be a number in [0, 1]`);
      if ((count += 1) > MOST_ITEMS) throw new Error(`progress must have at most ${MOST_ITEMS} items`);
      scores.set(item, score);
    }
    pages.set(page, scores);
  }
  return pages;
}

function keepBest(pages, page, item, score) {
  if (!pages.has(page)) pages.set(page, new Map());
  pages.get(page).set(item, Math.max(score, pages.get(page).get(item) ?? 0));
}

/* Notes that an item was done, with a score from 0 to 1; the best one stays. A chapter that was
 * read is the item "read" of its page, with score 1. */
function recordDone(pageId, itemId, score = 1) {
  if (!isProgressId(pageId)) throw new Error(`pageId must be small letters, digits and hyphens, got ${echo(pageId)}`);
  if (!isProgressId(itemId)) throw new Error(`itemId must be small letters, digits and hyphens, got ${echo(itemId)}`);
  if (!isScore(score)) throw new Error(`score must be a number in [0, 1], got ${echo(score)}`);
  keepBest(progressStore.now(), pageId, itemId, score);
  progressStore.write();
}

/* Forgets one item, as a reader does who takes back "I have read this". */
function recordUndone(pageId, itemId) {
  const items = progressStore.now().get(pageId);
  if (items && items.delete(itemId)) progressStore.write();
}

/* What was done on a page: `scores` by item, their number, and their mean, 0 if there are none. */
function progressOf(pageId) {
  const scores = Object.fromEntries(progressStore.now().get(pageId) || []), values = Object.values(scores);
  return { scores, done: values.length, mean: values.length ? values.reduce((sum, score) => sum + score, 0) / values.length : 0 };
}

const progressPages = () => [...progressStore.now().keys()];

/* Whether what is done is kept beyond this page. */
const progressIsKept = progressStore.keeps;

/* Calls `react` after every change, in this tab or another; returns what stops that. */
const onProgress = progressStore.listen;

function exportProgress() {
  progressStore.now();
  return progressStore.text();
}

/* Adds what Export wrote, the better score of each item staying; returns the number of items read.
 * Throws an Error that says what is wrong, and then nothing has changed. */
function importProgress(given) {
  const taken = progressFrom(given), pages = progressStore.now();
  let count = 0;
  for (const [page, items] of taken) {
    for (const [item, score] of items) {
      keepBest(pages, page, item, score);
      count += 1;
    }
  }
  progressStore.write();
  return count;
}

function resetProgress() {
  progressStore.now().clear();
  progressStore.write();
}
