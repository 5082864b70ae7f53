// Checks the form while the user types, and searches its keys. Without scripts the buttons do the same.
"use strict";

const WAIT_MS = 350;
const form = document.getElementById("start");
const preview = document.getElementById("preview");
const find = document.getElementById("find");
let timer = 0;
let latest = 0;

function mark(errors) {
  for (const ask of form.querySelectorAll("[data-field]")) {
    const key = ask.dataset.field;
    const error = errors[key] || "";
    const input = document.getElementById(`f-${key}`);
    document.getElementById(`f-${key}-error`).textContent = error;
    if (error) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
}

async function check() {
  const request = ++latest;
  preview.parentElement.classList.add("busy");
  const body = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && name !== "check"));
  const answer = await fetch("/start", { method: "POST", body, headers: { "X-Piece": "check" } }).catch(() => null);
  if (request !== latest) return; // the form has changed since
  preview.parentElement.classList.remove("busy");
  if (!answer?.ok || answer.redirected) return;
  const { errors, aside } = await answer.json();
  mark(errors);
  const open = preview.querySelector("details")?.open;
  preview.innerHTML = aside;
  if (open) preview.querySelector("details").open = true;
}

/** Show the keys whose name or help contains a word. */
function search() {
  const word = find.value.trim().toLowerCase();
  let count = 0;
  for (const group of form.querySelectorAll(".further details.group")) {
    let within = 0;
    for (const ask of group.querySelectorAll(".ask")) {
      ask.hidden = word !== "" && !ask.textContent.toLowerCase().includes(word);
      ask.style.display = ask.hidden ? "none" : "";
      within += ask.hidden ? 0 : 1;
    }
    group.hidden = word !== "" && within === 0;
    if (word) group.open = within > 0;
    count += within;
  }
  document.getElementById("matches").textContent = word ? `${count} ${count === 1 ? "key" : "keys"} found` : "";
}

form.addEventListener("input", (event) => {
  if (event.target === find) {
    search();
    return;
  }
  clearTimeout(timer);
  timer = setTimeout(check, WAIT_MS);
});
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target === find) event.preventDefault();
});
find.parentElement.hidden = false;
document.getElementById("check").hidden = true;
preview.addEventListener("click", (event) => {
  const to = event.target.closest("a[href^='#f-']");
  const input = to && document.getElementById(to.getAttribute("href").slice(1));
  if (!input) return;
  event.preventDefault();
  const group = input.closest("details");
  if (group) group.open = true;
  input.focus();
});
