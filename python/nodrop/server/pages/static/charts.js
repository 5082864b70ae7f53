// Loads charts, rendered by the server, when they scroll into view.
"use strict";

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    observer.unobserve(entry.target);
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
    place.textContent = "The chart could not be loaded. Reload the page.";
  }
}

document.querySelectorAll("[data-chart]").forEach((place) => observer.observe(place));
// Printing shows all charts, also those out of view or in closed sections.
addEventListener("beforeprint", () => document.querySelectorAll(".pending").forEach(show));
