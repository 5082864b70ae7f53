// What a browser adds to a report: tables that sort, marks that say what they are, texts that can be saved.
// Without it everything is there all the same.
(() => {
  "use strict";

  const keyOf = (row, index) => {
    const cell = row.cells[index];
    return cell.dataset.key !== undefined ? Number(cell.dataset.key) : cell.textContent.trim();
  };
  const compare = (one, other) =>
    typeof one === "number" && typeof other === "number" ? one - other
      : String(one).localeCompare(String(other), undefined, { numeric: true });

  const sort = (header, index) => {
    const body = header.closest("table").tBodies[0];
    const direction = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    const rows = [...body.rows].sort((one, other) => direction * compare(keyOf(one, index), keyOf(other, index)));
    body.append(...rows);
  };

  for (const table of document.querySelectorAll(".nodrop-report table")) {
    if (table.tBodies[0].rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((header, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.dataset.title = header.textContent;
      button.addEventListener("click", () => sort(header, index));
      header.replaceChildren(button);
    });
  }

  const tip = document.createElement("div");
  tip.className = "nodrop-tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const frame = ["axis", "legend", "title"];
  const textAt = (x, y) => document.elementsFromPoint(x, y)
    .filter((part) => !frame.includes(part.getAttribute("aria-roledescription")) && part.closest(".drawing svg"))
    .map((part) => part.getAttribute("aria-label"))
    .find((text) => text);
  for (const drawing of document.querySelectorAll(".nodrop-report .drawing")) {
    drawing.addEventListener("pointermove", (event) => {
      const text = textAt(event.clientX, event.clientY);
      tip.hidden = !text;
      if (!text) return;
      tip.replaceChildren(...text.split("; ").map((line) => {
        const row = document.createElement("div");
        row.textContent = line;
        return row;
      }));
      const left = Math.min(event.pageX + 14, window.scrollX + document.documentElement.clientWidth - tip.offsetWidth - 4);
      tip.style.left = `${Math.max(left, 4)}px`;
      tip.style.top = `${event.pageY + 14}px`;
    });
    drawing.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  const save = (name, parts, type) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  for (const code of document.querySelectorAll(".nodrop-report pre[data-file]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = `Save ${code.dataset.file}`;
    button.addEventListener("click", () => save(code.dataset.file, [code.textContent], "text/plain"));
    code.before(button);
  }
})();
