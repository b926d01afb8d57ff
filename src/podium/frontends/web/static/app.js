// The script of all pages: log in, follow changes, comments on lines, drafts, keys. Everything else works without it.
// Rule: text is only ever set as text. Nothing here makes markup from a string, but the parser of the browser, which runs
// no script, from the pages of this server.
"use strict";

const body = document.body;
const page = body.dataset.page;
const byId = (id) => document.getElementById(id);

// Log in: the key is behind the # of the address, which is never sent; it leaves the history at once.
function logIn() {
  const match = /^#key=([\w-]+)$/.exec(location.hash);
  if (!match) return;
  history.replaceState(null, "", location.pathname + location.search);
  byId("key").value = match[1];
  byId("login").requestSubmit();
}

// Live: a change makes the page read itself again; only parts whose text differs are replaced.
let busy = false;
let again = false;
let lastRead = 0;
const PAUSE_MS = 150;

async function readAgain() {
  if (busy) { again = true; return; }
  busy = true;
  const wait = PAUSE_MS - (Date.now() - lastRead);
  if (wait > 0) await new Promise((done) => setTimeout(done, wait));
  lastRead = Date.now();
  try {
    const answer = await fetch(location.pathname + location.search, { headers: { accept: "text/html" } });
    if (answer.redirected) { show("offline", "signed out: podium ui --url"); return; }
    if (answer.ok || answer.status === 409) replaceParts(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    show("offline", `offline since ${new Date().toLocaleTimeString()}`);
  } finally {
    busy = false;
    if (again) { again = false; readAgain(); }
  }
}

function replaceParts(fresh) {
  document.title = fresh.title;
  if (page === "decide" && !isSameQuestion(fresh)) return;
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(part.id);
    if (!next) { if (page !== "decide") part.replaceChildren(); continue; }
    if (withoutAges(part) === withoutAges(next) || part.contains(document.activeElement) && isTyping()) continue;
    swap(part, next);
  }
  decorate();
}

// The ages change by themselves, and what the script adds is not in the fresh page.
function withoutAges(part) {
  const copy = part.cloneNode(true);
  copy.querySelectorAll("time").forEach((each) => each.replaceChildren());
  copy.querySelectorAll(".comment-row").forEach((each) => each.remove());
  copy.querySelectorAll(".line-button").forEach((each) => each.replaceWith(each.textContent));
  copy.querySelectorAll("details").forEach((each) => each.removeAttribute("open"));
  copy.querySelectorAll(".here,.commentable").forEach((each) => { each.classList.remove("here", "commentable"); if (!each.className) each.removeAttribute("class"); });
  return new XMLSerializer().serializeToString(copy);
}

function swap(part, next) {
  const folds = new Map([...part.querySelectorAll("details")].map((each) => [each.querySelector("summary").textContent, each.open]));
  const focus = part.contains(document.activeElement) ? placeOf(document.activeElement) : null;
  const scrolled = [...part.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  part.replaceChildren(...document.adoptNode(next).childNodes);
  for (const each of part.querySelectorAll("details")) {
    const was = folds.get(each.querySelector("summary").textContent);
    if (was !== undefined) each.open = was;
  }
  [...part.querySelectorAll(".scroll")].forEach((each, number) => { each.scrollLeft = scrolled[number] || 0; });
  if (focus) [...part.querySelectorAll("a,button,summary,[tabindex]")].find((each) => placeOf(each) === focus)?.focus({ preventScroll: true });
}

const placeOf = (each) => `${each.tagName} ${each.getAttribute("href") || each.getAttribute("value") || ""} ${each.textContent}`;

// A page that shows another tree than the question is about now must not decide.
function isSameQuestion(fresh) {
  const here = byId("subject");
  const now = fresh.getElementById("subject");
  const is = now && here.dataset.tree === now.dataset.tree && here.dataset.question === now.dataset.question;
  if (!is && !byId("behind")) {
    document.querySelectorAll("#decision button").forEach((each) => { each.disabled = true; });
    const note = document.createElement("div");
    note.id = "behind";
    note.className = "alert failed";
    note.setAttribute("role", "alert");
    note.append(now ? "The run has moved on: this page shows an earlier tree. " : "This question is no longer open. ");
    const link = document.createElement("a");
    link.href = location.pathname + location.search;
    link.textContent = now ? "Show the new one" : "What became of it";
    note.append(link);
    byId("main").prepend(note);
  }
  return Boolean(is);
}

function show(state, text) {
  const live = byId("live");
  if (!live) return;
  live.hidden = false;
  if (live.dataset.state !== state || state === "offline") live.textContent = text;
  live.dataset.state = state;
}

function follow() {
  const source = new EventSource(`/events?run=${encodeURIComponent(body.dataset.run)}`);
  // What changed between the making of this page and the opening of the stream, or while there was none, is read now.
  source.addEventListener("hello", (event) => {
    show("live", "live");
    if (event.data !== body.dataset.changes) readAgain();
    body.dataset.changes = "";
  });
  source.addEventListener("run", readAgain);
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) {
      show("offline", `offline since ${new Date().toLocaleTimeString()}`);
      setTimeout(() => { follow(); readAgain(); }, 3000);
    } else show("reconnecting", "reconnecting");
  });
  addEventListener("pagehide", () => source.close());
}

// Ages: one clock for the visible ones.
function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  const m = Math.floor(s / 60);
  const h = Math.floor(m / 60);
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${s}s`;
  if (m < 60) return `${m}m${two(s % 60)}s`;
  return h < 48 ? `${h}h${two(m % 60)}m` : `${Math.floor(h / 24)}d${two(h % 24)}h`;
}

function tick() {
  if (document.hidden) return;
  for (const each of document.querySelectorAll("time[data-since]")) {
    const text = span(Date.now() - Number(each.dataset.since));
    if (each.textContent !== text) each.textContent = text;
  }
}

// Comments on lines of the change, which become words with file and line.
let comments = [];
const draftKey = () => `draft ${byId("decision").dataset.draft}`;

function decorate() {
  if (!byId("decision")) return;
  for (const row of document.querySelectorAll(".diff tr[data-line]")) {
    const cell = row.children[1];
    if (cell.querySelector("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "line-button";
    button.textContent = cell.textContent;
    button.setAttribute("aria-label", `Comment on line ${row.dataset.line}`);
    button.tabIndex = row.classList.contains("same") ? -1 : 0;
    cell.replaceChildren(button);
    row.classList.add("commentable");
  }
  drawComments();
}

function writeComment(row) {
  if (row.nextElementSibling?.classList.contains("comment-row")) { row.nextElementSibling.querySelector("textarea").focus(); return; }
  const line = row.parentNode.insertBefore(document.createElement("tr"), row.nextElementSibling);
  line.className = "comment-row";
  const cell = line.insertCell();
  cell.colSpan = 3;
  const text = document.createElement("textarea");
  text.rows = 2;
  text.setAttribute("aria-label", `Comment on line ${row.dataset.line}`);
  const save = document.createElement("button");
  save.type = "button";
  save.textContent = "Add comment";
  const add = () => {
    if (text.value.trim()) comments.push({ file: row.closest("[data-file]").dataset.file, line: Number(row.dataset.line), text: text.value.trim() });
    line.remove();
    drawComments();
    saveDraft();
    row.querySelector(".line-button").focus();
  };
  save.addEventListener("click", add);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { line.remove(); row.querySelector(".line-button").focus(); event.stopPropagation(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); add(); }
  });
  cell.append(text, save);
  text.focus();
}

function drawComments() {
  const list = byId("comments");
  list.replaceChildren(...comments.map((each, number) => {
    const item = document.createElement("li");
    const place = document.createElement("code");
    place.textContent = `${each.file}:${each.line}`;
    const words = document.createElement("span");
    words.textContent = each.text;
    const drop = document.createElement("button");
    drop.type = "button";
    drop.className = "quiet";
    drop.textContent = "remove";
    drop.addEventListener("click", () => { comments.splice(number, 1); drawComments(); saveDraft(); });
    item.append(place, words, drop);
    return item;
  }));
  byId("decision").elements.namedItem("comments").value = comments.length ? JSON.stringify(comments) : "";
}

function saveDraft() {
  sessionStorage.setItem(draftKey(), JSON.stringify({ words: byId("words").value, comments }));
}

function prepareDecision() {
  const form = byId("decision");
  try {
    const draft = JSON.parse(sessionStorage.getItem(draftKey()) || "{}");
    if (draft.words && !byId("words").value) byId("words").value = draft.words;
    if (Array.isArray(draft.comments)) comments = draft.comments;
  } catch { comments = []; }
  form.addEventListener("input", saveDraft);
  form.addEventListener("submit", (event) => {
    const action = event.submitter?.value;
    if (action === "reject" && !byId("words").value.trim() && !comments.length) {
      event.preventDefault();
      byId("words").focus();
      byId("words").setAttribute("placeholder", "Say what has to change: the next attempt is told your words");
      return;
    }
    if (form.dataset.sent) { event.preventDefault(); return; }
    if (needsPasskey(form, action)) { event.preventDefault(); signAnswer(form, event.submitter); return; }
    form.dataset.sent = "1";
    sessionStorage.removeItem(draftKey());
  });
  addEventListener("pageshow", () => { delete form.dataset.sent; });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".line-button");
    if (button) writeComment(button.closest("tr"));
  });
  decorate();
}

// Passkeys. The server says what is signed; this page only passes it on, and the result back in an ordinary form.
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
const toText = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const withBytes = (list) => (list || []).map((each) => ({ ...each, id: toBytes(each.id) }));

async function readOptions(path, fields) {
  const answer = await fetch(path, { method: "POST", body: new URLSearchParams(fields) });
  const options = await answer.json();
  if (options.error) throw new Error(options.error);
  return options;
}

function written(made) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature"]) if (made.response[name]) response[name] = toText(made.response[name]);
  return JSON.stringify({ id: made.id, rawId: toText(made.rawId), type: made.type, response });
}

async function ask(form, field, act) {
  const fault = byId("passkey-fault");
  fault.hidden = true;
  try {
    form.elements.namedItem(field).value = written(await act());
  } catch (error) {
    fault.textContent = `Nothing was sent: ${error.name === "NotAllowedError" ? "the passkey was not used." : error.message}`;
    fault.hidden = false;
  }
  return fault.hidden;
}

const needsPasskey = (form, action) => {
  const proof = form.elements.namedItem("proof");
  return proof && !proof.value && action !== "reject" && action !== "abort";
};

async function signAnswer(form, button) {
  const fields = [...new FormData(form)].concat([["action", button.value]]);
  const signed = await ask(form, "proof", async () => {
    const options = await readOptions(location.pathname.replace("/decide/", "/presence/"), fields);
    return navigator.credentials.get({ publicKey: { ...options, challenge: toBytes(options.challenge), allowCredentials: withBytes(options.allowCredentials) } });
  });
  if (signed) form.requestSubmit(button);
}

function preparePasskeys() {
  const form = byId("add-passkey");
  form?.addEventListener("submit", async (event) => {
    if (form.elements.namedItem("response").value) return;
    event.preventDefault();
    const made = await ask(form, "response", async () => {
      const options = await readOptions("/settings/passkeys/options", []);
      const publicKey = { ...options, challenge: toBytes(options.challenge), user: { ...options.user, id: toBytes(options.user.id) }, excludeCredentials: withBytes(options.excludeCredentials) };
      return navigator.credentials.create({ publicKey });
    });
    if (made) form.requestSubmit();
  });
}

// Keys. A key only puts the focus where the person decides; Enter is what decides.
const isTyping = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName || "");
const go = (path) => { location.href = path; };
const focusOn = (selector) => document.querySelector(selector)?.focus();
const click = (selector) => document.querySelector(selector)?.click();

function move(step) {
  const items = [...document.querySelectorAll("[data-item]")];
  if (!items.length) return;
  const at = items.findIndex((each) => each.classList.contains("here"));
  const next = items[Math.min(items.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  items.forEach((each) => each.classList.toggle("here", each === next));
  next.querySelector(".open")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function moveFile(step) {
  const files = [...document.querySelectorAll(".file > summary")];
  const at = files.indexOf(document.activeElement);
  files[Math.min(files.length - 1, Math.max(0, at + step))]?.focus();
}

const ACTIONS = [
  ["j", "Next entry", () => move(1), "[data-item]"],
  ["k", "Entry before", () => move(-1), "[data-item]"],
  ["s", "Set aside for four hours", () => (document.querySelector(".here") || document.querySelector(".question"))?.querySelector("form button")?.focus(), ".question"],
  ["d", "Decide what this run asks", () => click('[data-key="d"]'), '[data-key="d"]'],
  ["a", "Approve", () => focusOn('#decision button[value="approve"], #decision button.yes'), "#decision button.yes"],
  ["r", "Reject with words", () => focusOn("#words"), '#decision button[value="reject"]'],
  ["x", "Abort", () => focusOn('#decision button[value="abort"]'), '#decision button[value="abort"]'],
  ["]", "Next file", () => moveFile(1), ".file"],
  ["[", "File before", () => moveFile(-1), ".file"],
  ["n", "Next question", () => click('[data-key="n"]'), '[data-key="n"]'],
  ["v", "Members side by side", () => click('[data-key="v"]'), '[data-key="v"]'],
  ["g", "Picture of the steps", () => focusOn("#graph .scroll"), "#graph .scroll"],
  ["t", "Timeline", () => focusOn("#timeline .scroll"), "#timeline .scroll"],
  ["l", "Logs of this run", () => click('[data-key="l"]'), '[data-key="l"]'],
  ["p", "Pause this run", () => focusOn('[data-key="p"]'), '[data-key="p"]'],
  ["/", "Search", () => focusOn('input[type="search"]'), 'main input[type="search"]'],
  ["G", "End of the log", () => byId("end")?.scrollIntoView(), "#end"],
  ["i", "Inbox", () => go("/"), "body"],
  ["u", "Runs", () => go("/runs"), "body"],
  ["w", "Start a run", () => go("/workflows"), "body"],
  ["c", "Costs and agents", () => go("/costs"), "body"],
];
const offered = () => ACTIONS.filter(([, , , needs]) => document.querySelector(needs));

function fillPalette() {
  const wanted = byId("palette-text").value.toLowerCase();
  byId("palette-list").replaceChildren(...offered().filter(([key, name]) => `${key} ${name}`.toLowerCase().includes(wanted)).map(([key, name, run]) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const label = document.createElement("span");
    const mark = document.createElement("kbd");
    label.textContent = name;
    mark.textContent = key;
    button.type = "button";
    button.append(label, mark);
    button.addEventListener("click", () => { byId("palette").close(); run(); });
    item.append(button);
    return item;
  }));
}

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const palette = byId("palette");
    if ((event.ctrlKey || event.metaKey) && event.key === "k" || event.key === "?" && !isTyping()) {
      event.preventDefault();
      if (!palette.open) { palette.showModal(); byId("palette-text").value = ""; fillPalette(); byId("palette-text").focus(); }
      return;
    }
    if (event.key === "Escape" && isTyping() && !palette.open) document.activeElement.blur();
    if (isTyping() || palette.open || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = offered().find(([key]) => key === event.key);
    if (action) { event.preventDefault(); action[2](); }
  });
  byId("palette-text").addEventListener("input", fillPalette);
  byId("palette-text").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    byId("palette-list").querySelector("button")?.click();
  });
}

if (page === "login") logIn();
else {
  if (page === "decide" && byId("decision")) prepareDecision();
  if (page === "settings") preparePasskeys();
  listenToKeys();
  follow();
  setInterval(tick, 1000);
}
