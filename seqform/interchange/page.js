"use strict";
// Text is only ever set as text: nothing here makes markup of what a page holds.
const make = (tag, text, onclick) => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (onclick) { made.type = "button"; made.addEventListener("click", onclick); }
  return made;
};
const key = (row, place) => {
  const text = row.cells[place].textContent.trim();
  const number = Number(text.replace(/,/g, "").replace("−", "-"));
  return text === "" ? null : Number.isNaN(number) ? text : number;
};
const order = (a, b) =>
  a === null || b === null ? (a === null) - (b === null)
  : typeof a === "number" && typeof b === "number" ? a - b
  : String(a).localeCompare(String(b), undefined, { numeric: true });

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], rows = [...body.rows], headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, place) => {
    const sort = () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keys = new Map(rows.map((row) => [row, key(row, place)]));
      body.append(...[...rows].sort((a, b) => {
        const [one, other] = [keys.get(a), keys.get(b)];
        return one === null || other === null ? order(one, other) : (down ? -1 : 1) * order(one, other);
      }));
    };
    const button = make("button", heading.textContent, sort);
    button.title = "Sort";
    heading.replaceChildren(button);
  });
  if (rows.length < 8) continue;
  const filter = make("input", "");
  Object.assign(filter, { type: "search", className: "filter", placeholder: `Filter ${rows.length} rows` });
  filter.setAttribute("aria-label", "Filter rows");
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
  });
  table.closest(".scroll").before(filter);
}

for (const block of document.querySelectorAll(".code")) {
  if (!navigator.clipboard) break;
  const button = make("button", "Copy", async () => {
    await navigator.clipboard.writeText(block.querySelector("pre").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}

for (const box of document.querySelectorAll("[data-stops]")) {
  const stops = JSON.parse(box.dataset.stops), series = JSON.parse(box.dataset.series);
  const readings = [...box.querySelectorAll("[data-of]")], inputs = [...box.querySelectorAll("label input")];
  const show = (value) => {
    let last = stops.findIndex((stop) => stop > value);
    last = last < 0 ? stops.length - 1 : Math.max(1, last);
    const width = stops[last] - stops[last - 1], part = width > 0 ? Math.min(1, (value - stops[last - 1]) / width) : 1;
    const at = (place) => (1 - part) * series[place][last - 1] + part * series[place][last];
    for (const reading of readings) {
      const { of, over, digits } = reading.dataset, whole = over === undefined ? 1 : at(over);
      const found = whole > 1e-9 ? at(of) / whole : NaN;
      reading.textContent = Number.isNaN(found) ? "–" : (found + 0).toFixed(digits).replace(/^-(?=[0.]*$)/, "");
      const cell = reading.closest("td.share");
      if (cell) cell.style.setProperty("--of", Number.isNaN(found) ? 0 : Math.min(1, Math.max(0, found)));
    }
    for (const marker of box.querySelectorAll("[data-from]")) {
      marker.setAttribute("transform", `translate(${(value - marker.dataset.from) * marker.dataset.scale} 0)`);
    }
  };
  for (const input of inputs) {
    input.addEventListener("input", () => {
      const value = Math.min(stops[stops.length - 1], Math.max(stops[0], Number(input.value)));
      for (const other of inputs) if (other !== input) other.value = value;
      show(value);
    });
  }
  inputs[0].closest("label").hidden = false;
}
