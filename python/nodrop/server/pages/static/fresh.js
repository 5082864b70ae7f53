// Refreshes pieces of a page: <div data-fresh="/path" data-version="...">. Without scripts the page stays as loaded.
"use strict";

const EVERY_MS = 2000;
const EVERY_MS_AFTER_FAILURE = 8000;

function statesOf(piece) {
  return new Map([...piece.querySelectorAll("[data-run]")].map((row) => [row.dataset.run, row.dataset]));
}

/** Announce changed states of runs to screen readers. */
function announce(before, after) {
  const news = document.getElementById("news");
  const changes = [...after.values()]
    .filter((now) => before.get(now.run)?.state !== now.state)
    .map((now) => `${now.title}: ${now.state}`);
  if (news && changes.length) news.textContent = changes.join(". ");
}

function replace(piece, text) {
  const focused = piece.contains(document.activeElement) ? document.activeElement.id : "";
  const before = statesOf(piece);
  piece.innerHTML = text;
  announce(before, statesOf(piece));
  if (focused) (document.getElementById(focused) || document.getElementById("main")).focus({ preventScroll: true });
}

async function refresh(piece) {
  const answer = await fetch(piece.dataset.fresh, {
    headers: { "X-Piece": piece.dataset.version, Accept: "text/html" },
    cache: "no-store",
  });
  if (answer.redirected) location.reload(); // to log in
  if (answer.status !== 200 || !answer.headers.get("X-Piece")) return;
  const text = await answer.text();
  // Do not replace an open dialog, a text selection, or a pressed button, whose click would be lost.
  if (document.querySelector("dialog[open], button:active") || !getSelection().isCollapsed) return;
  piece.dataset.version = answer.headers.get("X-Piece");
  replace(piece, text);
}

function keep(piece) {
  const later = (wait) => setTimeout(turn, wait);
  const turn = async () => {
    if (document.hidden) {
      document.addEventListener("visibilitychange", turn, { once: true });
      return;
    }
    try {
      await refresh(piece);
      later(EVERY_MS);
    } catch {
      later(EVERY_MS_AFTER_FAILURE);
    }
  };
  later(EVERY_MS);
}

document.querySelectorAll("[data-fresh]").forEach(keep);

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});
