// Draws nothing itself: fetches the drawings of charts that come into sight, and puts them into the page.
"use strict";

const painters = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    painters.unobserve(entry.target);
    show(entry.target);
  }
}, { rootMargin: "300px" });

async function show(place) {
  try {
    const answer = await fetch(place.dataset.chart);
    if (!answer.ok) throw new Error(String(answer.status));
    place.innerHTML = await answer.text();
    place.classList.remove("pending");
  } catch {
    place.textContent = "This chart could not be drawn. Load the page again.";
  }
}

document.querySelectorAll("[data-chart]").forEach((place) => painters.observe(place));
// What is folded away has no place yet, and on paper nothing is out of sight.
addEventListener("beforeprint", () => document.querySelectorAll(".pending").forEach(show));
