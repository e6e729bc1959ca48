// Enhances pages; each works without it. Regions are replaced only with HTML that our own server
// rendered and escaped.
"use strict";

const POLL_MS = 30000;
const AT_MOST_EVERY_MS = 1000;
const TYPING_PAUSE_MS = 180;
const COPIED_MS = 1600;
const TOAST_MS = 8000;

// --- swapping regions -------------------------------------------------------------------------

let latestFetch = 0;

/** Fetch a page and replace the [data-swap] regions of this one with its regions. */
async function swapFrom(address) {
  const number = ++latestFetch;
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok || number !== latestFetch) return answer.ok;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== latestFetch) return true;
  for (const old of document.querySelectorAll("[data-swap]")) {
    const next = fresh.getElementById(old.id);
    if (!next || next.innerHTML === old.innerHTML || isBusy(old)) continue;
    const focused = findFocused(old);
    const selected = old.querySelector("[data-selected]")?.id;
    const unfolded = [...old.querySelectorAll("details[id][open]")].map((details) => details.id);
    old.replaceChildren(...next.childNodes);
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.querySelector(focused)?.focus({ preventScroll: true });
    if (selected) document.getElementById(selected)?.setAttribute("data-selected", "");
  }
  enhance();
  return true;
}

/** Return a selector of the focused element in a region: by its id, or as a link in a row with an id. */
function findFocused(region) {
  const active = document.activeElement;
  if (!region.contains(active)) return "";
  if (active.id) return `#${CSS.escape(active.id)}`;
  const link = active.getAttribute("href");
  return link ? `#${CSS.escape(active.closest("[id]").id)} a[href="${CSS.escape(link)}"]` : "";
}

/** Do not replace a region that the user is working in. */
function isBusy(region) {
  if (region.querySelector("details.confirm[open]")) return true;
  const active = document.activeElement;
  return region.contains(active) && active.matches("input:not([type=search]), textarea, select");
}

// --- live -------------------------------------------------------------------------------------

function startLive() {
  const holder = document.querySelector("[data-live]");
  if (!holder) return;
  const sign = document.querySelector(".live");
  let timer = null;
  let last = 0;
  let polling = null;
  const say = (state, words) => {
    if (sign) { sign.dataset.state = state; sign.textContent = words; }
  };
  const refresh = () => {
    if (timer) return;
    const wait = Math.max(0, last + AT_MOST_EVERY_MS - Date.now());
    timer = setTimeout(async () => {
      timer = null;
      last = Date.now();
      try { await swapFrom(location.href); } catch { say("off", "Offline"); }
    }, wait);
  };
  const poll = () => {
    if (polling) return;
    say("polling", "Updates every 30 s");
    polling = setInterval(refresh, POLL_MS);
  };
  if (!window.EventSource) { poll(); return; }
  const source = new EventSource(holder.dataset.live);
  source.addEventListener("open", () => {
    if (polling) { clearInterval(polling); polling = null; }
    refresh(); // something may have changed before this page could hear of it
    say("live", "Live");
  });
  source.addEventListener("changed", refresh);
  source.addEventListener("end", () => { source.close(); refresh(); say("off", "Finished"); });
  source.addEventListener("error", poll);
  addEventListener("pagehide", () => source.close());
}

// --- search as you type -----------------------------------------------------------------------

function startSearch() {
  for (const form of document.querySelectorAll("form[data-as-you-type]")) {
    let timer = null;
    const search = () => {
      const data = new URLSearchParams(new FormData(form));
      for (const [name, value] of [...data]) if (!value) data.delete(name);
      const text = data.toString();
      const address = form.action.split("?")[0] + (text ? "?" + text : "");
      history.replaceState(null, "", address);
      swapFrom(address).catch(() => form.submit());
    };
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, TYPING_PAUSE_MS); });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); search(); });
  }
}

// --- keys -------------------------------------------------------------------------------------

function isTyping(target) {
  return Boolean(target.closest?.("input, textarea, select, [contenteditable]"));
}

function moveSelection(step) {
  const link = document.querySelector(`[data-steps] a[rel="${step > 0 ? "next" : "prev"}"]`);
  if (link) return link.click();
  const rows = [...document.querySelectorAll("[data-rows] > *")].filter((row) => row.querySelector("a"));
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.hasAttribute("data-selected"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  for (const row of rows) row.removeAttribute("data-selected");
  next.setAttribute("data-selected", "");
  next.querySelector("a").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") {
      // Some browsers clear the field on Escape, but the results would stay: keep the text.
      if (event.target.type === "search") event.preventDefault();
      event.target.blur();
    }
    return;
  }
  if (event.key === "/") {
    const box = document.querySelector("[data-slash]");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  } else if (event.key === "?") {
    event.preventDefault();
    document.getElementById("shortcuts").showModal();
  } else if (event.key === "j") moveSelection(1);
  else if (event.key === "k") moveSelection(-1);
  else if (event.key.length === 1) {
    const field = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (field) { event.preventDefault(); field.focus(); }
  }
}

// --- copy, times, uploads -----------------------------------------------------------------------------

async function copyText(button) {
  const label = button.querySelector("span") ?? button;
  label.dataset.words ??= label.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    label.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    label.textContent = /Mac|iP/.test(navigator.platform) ? "Press ⌘C" : "Press Ctrl+C";
  }
  setTimeout(() => { label.textContent = label.dataset.words; }, COPIED_MS);
}

// --- text that is not lost ------------------------------------------------------------------------

/** Keep typed text until it was sent successfully, because the user may open another page meanwhile. */
function startDrafts() {
  try {
    const sent = sessionStorage.getItem("draft-sent");
    if (sent && document.querySelector(".toast.good")) sessionStorage.removeItem(sent);
    sessionStorage.removeItem("draft-sent");
    for (const field of document.querySelectorAll("[data-draft]")) {
      const key = `draft-${field.dataset.draft}`;
      const kept = sessionStorage.getItem(key);
      if (field.dataset.draftNote) keepWholeText(field, key, kept);
      else if (!field.value) field.value = kept ?? "";
      field.addEventListener("input", () => sessionStorage.setItem(key, field.value));
      field.form?.addEventListener("submit", () => sessionStorage.setItem("draft-sent", key));
    }
  } catch { /* storage may be forbidden: then nothing is kept */ }
}

/** Restore typed text after a refused action that leads to a new page with an empty form. */
function restoreTyped() {
  try {
    const sent = JSON.parse(sessionStorage.getItem("typed") ?? "null");
    sessionStorage.removeItem("typed");
    const form = sent && document.querySelector(".toast.bad") && [...document.forms].find((one) => one.getAttribute("action") === sent.action);
    for (const [name, value] of form ? sent.fields : []) {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLElement && (!field.value || field.matches("select"))) field.value = value;
    }
    form?.closest("details")?.setAttribute("open", "");
  } catch { /* storage may be forbidden: then nothing is kept */ }
}

document.addEventListener("submit", ({ target: form }) => {
  if (form.method !== "post") return;
  const typed = [...form.elements].filter((one) => one.name && one.matches("select, textarea, input:not([type]), input:is([type=text], [type=url], [type=email], [type=number])"));
  try {
    sessionStorage.setItem("typed", JSON.stringify({ action: form.getAttribute("action"), fields: typed.map((one) => [one.name, one.value]) }));
  } catch { /* as above */ }
});

/** A field with text from the server: kept text is newer, unless the page is the response to it. */
function keepWholeText(field, key, kept) {
  const note = document.getElementById(field.dataset.draftNote);
  if (!note) {
    sessionStorage.setItem(key, field.value);
  } else if (kept !== null && kept !== field.value) {
    const saved = field.value;
    field.value = kept;
    note.hidden = false;
    note.querySelector("button").addEventListener("click", () => {
      field.value = saved;
      note.hidden = true;
      sessionStorage.removeItem(key);
    });
  }
}

// --- work in parts ----------------------------------------------------------------------------------

/** Continue a long dry run automatically, part by part, until it is done or the user leaves the page. */
async function startParts() {
  for (let form; (form = document.querySelector("form[data-continue]"));) {
    const sent = new URLSearchParams(new FormData(form));
    sent.set("show", "preview");
    let page;
    try {
      const answer = await fetch(form.action, { method: "POST", body: sent });
      if (!answer.ok) return;
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch { return; } // the button is still there
    const [status, part] = ["[data-status]", "[data-part]"].map((name) => page.querySelector(name));
    if (!status || !part) return;
    if (part.querySelector("table, .warn")) [...document.querySelectorAll("[data-part]")].at(-1).after(part);
    form.closest("[data-status]").replaceWith(status);
  }
}

// --- choices that last, and messages that go ---------------------------------------------------

/** Open the tab that this visitor chose last, on this or any other page. */
function startSwitches() {
  for (const choices of document.querySelectorAll(".switch[data-remember]")) {
    const key = `switch-${choices.dataset.remember}`;
    try {
      const kept = choices.querySelector(`input[value="${CSS.escape(localStorage.getItem(key) ?? "")}"]`);
      if (kept) kept.checked = true;
      choices.addEventListener("change", (event) => localStorage.setItem(key, event.target.value));
    } catch { /* storage may be forbidden: then the first tab is open */ }
  }
}

function startToasts() {
  for (const toast of document.querySelectorAll(".toast:not([data-seen])")) {
    toast.dataset.seen = "";
    toast.querySelector("[data-dismiss]").hidden = false;
    if (toast.matches(".good")) setTimeout(() => toast.remove(), TOAST_MS);
  }
}

// Same as in numbers.py, so that the text does not change when this runs: a unit and its maximum;
// times to come, which are deadlines, are in days for longer.
const UNITS = [
  [60, "min", "min", 59], [3600, "h", "h", 23], [86400, "day", "days", 29],
  [2592000, "month", "months", 11], [31536000, "year", "years", Infinity],
];

const MOST_DAYS_TO_COME = 99;

function agoInWords(seconds) {
  const length = Math.abs(seconds);
  if (length < UNITS[0][0]) return seconds >= 0 ? "just now" : "in a moment";
  const rounded = (unit) => Math.floor(length / unit[0] + 0.5);
  const most = (unit) => (unit[1] === "day" && seconds < 0 ? MOST_DAYS_TO_COME : unit[3]);
  const unit = UNITS.find((one) => rounded(one) <= most(one));
  const words = `${rounded(unit)} ${rounded(unit) === 1 ? unit[1] : unit[2]}`;
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

function sayAgo(element) {
  const words = agoInWords((Date.now() - Date.parse(element.dateTime)) / 1000);
  if (element.textContent !== words) element.textContent = words;
}

/** Read dropped files, and all files of dropped folders with their paths. */
async function readDropped(items) {
  const found = [];
  const walk = async (entry, path) => {
    if (entry.isFile) {
      const file = await new Promise((done, fail) => entry.file(done, fail));
      found.push([path + file.name, file]);
      return;
    }
    const reader = entry.createReader();
    for (;;) { // readEntries returns a batch at a time, and an empty one at the end
      const some = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (!some.length) return;
      for (const inner of some) await walk(inner, `${path}${entry.name}/`);
    }
  };
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  for (const entry of entries) await walk(entry, "");
  return found;
}

/** Upload files with their paths, which a file input cannot contain, and follow the redirect. */
async function sendFiles(form, found) {
  const data = new FormData(form);
  data.delete("files");
  for (const [path, file] of found) data.append("files", file, path);
  const answer = await fetch(form.action, { method: "POST", body: data, credentials: "same-origin" });
  if (answer.redirected) { location.assign(answer.url); return; }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.getElementById("main").replaceChildren(...page.getElementById("main").childNodes);
  start();
}

const MOST_LISTED = 20;

function sizeInWords(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let size = bytes, unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return `${unit ? Number(size.toFixed(1)) : size} ${size === 1 && !unit ? "byte" : units[unit]}`;
}

/** List what would be uploaded: the name, the number of files and bytes, and the files. */
function listPicked(zone, found) {
  const said = zone.querySelector("[data-file-name]");
  const list = zone.querySelector("[data-picked]");
  const total = sizeInWords(found.reduce((sum, [, file]) => sum + file.size, 0));
  const isFolder = found.some(([path]) => path.includes("/"));
  const name = isFolder ? found[0][0].split("/")[0] : found.map(([path]) => path).join(", ");
  const files = `${found.length} ${found.length === 1 ? "file" : "files"}, `;
  said.textContent = found.length ? `${name}: ${isFolder ? files : ""}${total}. Not uploaded yet.` : "";
  const rows = found.slice(0, MOST_LISTED).map(([path, file]) => `${path} (${sizeInWords(file.size)})`);
  if (found.length > MOST_LISTED) rows.push(`and ${found.length - MOST_LISTED} more`);
  list.replaceChildren(...rows.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  list.hidden = !isFolder;
}

/** Files are picked or dropped, listed, and sent only by the form's own button. */
function startDrop() {
  for (const zone of document.querySelectorAll(".drop")) {
    const input = zone.querySelector("#files");
    const folder = zone.querySelector("#folder");
    const said = zone.querySelector("[data-file-name]");
    const button = input.form.querySelector("button");
    let picked = []; // files that the archive field cannot hold; a script sends them
    const pick = (found) => {
      picked = found;
      input.required = !found.length;
      listPicked(zone, found);
    };
    zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.dataset.over = ""; });
    zone.addEventListener("dragleave", () => { delete zone.dataset.over; });
    zone.addEventListener("drop", async (event) => {
      event.preventDefault();
      delete zone.dataset.over;
      try {
        const found = await readDropped(event.dataTransfer.items);
        if (!found.length) return;
        input.value = folder.value = "";
        pick(found);
      } catch { said.textContent = "The files could not be read. Nothing was uploaded."; }
    });
    input.addEventListener("change", () => {
      folder.value = "";
      pick([]);
      listPicked(zone, [...input.files].map((file) => [file.name, file]));
    });
    folder.addEventListener("change", () => {
      input.value = "";
      pick([...folder.files].map((file) => [file.webkitRelativePath, file]));
    });
    input.form.addEventListener("submit", async (event) => {
      if (!picked.length) return;
      event.preventDefault();
      button.disabled = true;
      said.textContent = `Uploading ${picked.length === 1 ? picked[0][0] : `${picked.length} files`} …`;
      try { await sendFiles(input.form, picked); } catch {
        said.textContent = "The upload failed. Please try again.";
        button.disabled = false;
      }
    });
  }
}

/** Set up new parts of a page; safe to run again. */
function enhance() {
  for (const element of document.querySelectorAll("[data-copy][hidden], [data-scripted][hidden]")) element.hidden = false;
  for (const element of document.querySelectorAll("time[data-ago]")) sayAgo(element);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (button) copyText(button);
  event.target.closest?.("[data-dismiss]")?.closest(".toast").remove();
  const choice = event.target.closest?.("[data-check-all], [data-check-none]");
  if (choice) for (const box of choice.form.querySelectorAll("input[type=checkbox]")) box.checked = "checkAll" in choice.dataset;
  if (event.target.closest?.("[data-shortcuts]")) document.getElementById("shortcuts").showModal();
});
/** Close the evidence of a capability like a menu: with Escape, or a click elsewhere. */
function closeCapabilities(target) {
  for (const open of document.querySelectorAll("details.capability[open]")) if (!open.contains(target)) open.open = false;
}
document.addEventListener("click", (event) => closeCapabilities(event.target));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeCapabilities(null); });
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-submit-on-change]");
  if (form) form.requestSubmit();
});
document.addEventListener("keydown", onKey);
for (const button of document.querySelectorAll("[data-theme-switch]")) {
  button.hidden = false;
  button.addEventListener("click", switchTheme);
}

/** Set up the content of a page, once for each content. */
function start() {
  enhance();
  startSearch();
  startDrop();
  startSwitches();
  startDrafts();
  restoreTyped();
  startParts();
  startToasts();
}

start();
startLive();
setInterval(enhance, POLL_MS);
