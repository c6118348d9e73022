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
  const places = JSON.parse(table.dataset.filters || "[]"), series = JSON.parse(table.dataset.series || "{}");
  if (rows.length < 8 && !places.length) continue;
  const filter = make("input", ""), mean = table.tHead.rows[1];
  const choices = places.map((place) => {
    const select = make("select", ""), label = make("label", headings[place].textContent);
    select.append(new Option("all", ""), ...[...new Set(rows.map((row) => row.cells[place].textContent))]
      .map((value) => new Option(value, value)));
    label.append(select);
    return [place, select, label];
  });
  const show = () => {
    const wanted = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word))
        || choices.some(([place, select]) => select.value && row.cells[place].textContent !== select.value);
    }
    if (!mean) return;
    for (const [place, weights] of Object.entries(series)) {
      const cell = mean.cells[place], digits = (cell.textContent.split(".")[1] || "").length;
      let total = 0, weight = 0;
      rows.forEach((row, number) => {
        const value = key(row, place);
        if (row.hidden || typeof value !== "number") return;
        total += (weights ? weights[number] : 1) * value;
        weight += weights ? weights[number] : 0;
      });
      const found = weights ? total / weight : total;
      cell.textContent = Number.isFinite(found) ? found.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−") : "–";
      if (cell.className === "share") cell.style.setProperty("--of", Number.isFinite(found) ? found : 0);
    }
    mean.cells[0].textContent = `mean of ${rows.filter((row) => !row.hidden).length}`;
  };
  Object.assign(filter, { type: "search", className: "filter", placeholder: `Filter ${rows.length} rows` });
  filter.setAttribute("aria-label", "Filter rows");
  filter.addEventListener("input", show);
  const bar = make("div", "");
  bar.className = "filters";
  for (const [, select, label] of choices) { select.addEventListener("change", show); bar.append(label); }
  table.closest(".scroll").before(...(choices.length ? [bar] : []), filter);
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
