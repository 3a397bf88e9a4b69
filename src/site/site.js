// Finds parts of the documentation that have all words of a query. The index is loaded once somebody searches.
"use strict";

const root = document.currentScript.dataset.root;
const input = document.getElementById("search");
const found = document.getElementById("found");
const most = 20;
let index;

// A script, so that it can be loaded from a folder, too.
function load() {
  index ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = root + "parts.js";
    script.onload = () => resolve(globalThis.parts);
    document.head.append(script);
  });
  return index;
}

// The text around the first of the words.
function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return (at > 0 ? "…" : "") + text.slice(at, at + 160) + "…";
}

function item(part, word) {
  const link = document.createElement("a");
  link.href = root + part.at;
  link.textContent = part.page === part.heading ? part.page : `${part.page}: ${part.heading}`;
  const text = document.createElement("p");
  text.textContent = excerpt(part.text, word);
  const entry = document.createElement("li");
  entry.append(link, text);
  return entry;
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const parts = words.length > 0 ? await load() : [];
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  const matches = parts.filter((part) => has(`${part.page} ${part.heading} ${part.text}`));
  const rank = (part) => (has(`${part.page} ${part.heading}`) ? 0 : 1);
  matches.sort((a, b) => rank(a) - rank(b));
  found.replaceChildren(...matches.slice(0, most).map((part) => item(part, words[0])));
  found.hidden = words.length === 0;
  found.dataset.matches = matches.length;
}

input.addEventListener("focus", load);
input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter") found.querySelector("a")?.click();
  if (event.key === "Escape") { input.value = ""; search(); }
});
