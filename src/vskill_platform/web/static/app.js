// Makes pages livelier; each works without it. Nothing here trusts what it shows: regions are
// swapped with what our own server rendered and escaped.
"use strict";

const POLL_MS = 30000;
const AT_MOST_EVERY_MS = 1000;
const TYPING_PAUSE_MS = 180;
const COPIED_MS = 1600;

// --- swapping regions -------------------------------------------------------------------------

let latestFetch = 0;

/** Fetch a page of ours and put its [data-swap] regions in the place of those here. */
async function swapFrom(address) {
  const number = ++latestFetch;
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok || number !== latestFetch) return answer.ok;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== latestFetch) return true;
  for (const old of document.querySelectorAll("[data-swap]")) {
    const next = fresh.getElementById(old.id);
    if (!next || next.innerHTML === old.innerHTML || isBusy(old)) continue;
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    const selected = old.querySelector("[data-selected]")?.id;
    old.replaceChildren(...next.childNodes);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    if (selected) document.getElementById(selected)?.setAttribute("data-selected", "");
  }
  enhance();
  return true;
}

/** Nothing is taken from under somebody's hands. */
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
      try { await swapFrom(location.href); } catch { say("off", "Not connected"); }
    }, wait);
  };
  const poll = () => {
    if (polling) return;
    say("polling", "Looks again every 30 s");
    polling = setInterval(refresh, POLL_MS);
  };
  if (!window.EventSource) { poll(); return; }
  const source = new EventSource(holder.dataset.live);
  source.addEventListener("open", () => {
    if (polling) { clearInterval(polling); polling = null; refresh(); }
    say("live", "Live");
  });
  source.addEventListener("changed", refresh);
  source.addEventListener("end", () => { source.close(); refresh(); say("off", "Nothing more will change"); });
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
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/") {
    const boxes = document.querySelectorAll("[data-slash]");
    const box = boxes[boxes.length - 1];
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  } else if (event.key === "j") moveSelection(1);
  else if (event.key === "k") moveSelection(-1);
}

// --- small things -----------------------------------------------------------------------------

async function copyText(button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => { button.textContent = words; }, COPIED_MS);
}

const UNITS = [
  [31536000, "year", "years"], [2592000, "month", "months"], [86400, "day", "days"],
  [3600, "h", "h"], [60, "min", "min"],
];

function sayAgo(element) {
  const seconds = (Date.now() - Date.parse(element.dateTime)) / 1000;
  const unit = UNITS.find(([length]) => Math.abs(seconds) >= length);
  let words = seconds >= 0 ? "just now" : "in a moment";
  if (unit) {
    const count = Math.floor(Math.abs(seconds) / unit[0]);
    const length = `${count} ${count === 1 ? unit[1] : unit[2]}`;
    words = seconds > 0 ? `${length} ago` : `in ${length}`;
  }
  if (element.textContent !== words) element.textContent = words;
}

function startDrop() {
  for (const zone of document.querySelectorAll(".drop")) {
    const input = zone.querySelector("input[type=file]");
    if (!input) continue;
    const over = (on) => (event) => {
      event.preventDefault();
      if (on) zone.dataset.over = ""; else delete zone.dataset.over;
    };
    zone.addEventListener("dragover", over(true));
    zone.addEventListener("dragleave", over(false));
    zone.addEventListener("drop", (event) => {
      over(false)(event);
      if (!event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    });
    input.addEventListener("change", () => {
      const name = zone.querySelector("[data-file-name]");
      if (name) name.textContent = [...input.files].map((file) => file.name).join(", ");
    });
  }
}

/** What new parts of a page need; safe to run again. */
function enhance() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  for (const element of document.querySelectorAll("time[data-ago]")) sayAgo(element);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (button) copyText(button);
});
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-submit-on-change]");
  if (form) form.requestSubmit();
});
document.addEventListener("keydown", onKey);
for (const button of document.querySelectorAll("[data-theme-switch]")) {
  button.hidden = false;
  button.addEventListener("click", switchTheme);
}
enhance();
startLive();
startSearch();
startDrop();
setInterval(enhance, POLL_MS);
