"use strict";

// Loaded before the page is drawn, so that it does not flash in the wrong theme.

const root = document.documentElement;

function storedTheme() {
  try { return localStorage.getItem("theme"); } catch { return null; } // storage may be forbidden
}

function applyTheme(theme) {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
}

function switchTheme() {
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const next = isDark ? "light" : "dark";
  applyTheme(next);
  try { localStorage.setItem("theme", next); } catch { /* then it applies to this page only */ }
}

applyTheme(storedTheme());
