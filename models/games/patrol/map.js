// A map on which a slider moves through time. Text is set as text.
for (const box of document.querySelectorAll("[data-patrol]")) {
  const { last, times, nodes, streets, layers } = JSON.parse(box.dataset.patrol);
  const space = "http://www.w3.org/2000/svg", find = (selector) => box.querySelector(selector);
  const draw = (tag, attributes, said) => {
    const made = document.createElementNS(space, tag), title = document.createElementNS(space, "title");
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    title.textContent = said;
    made.append(title);
    return made;
  };
  const text = (much, whole) => whole || much > 1.0005 ? much.toFixed(2) : much < 0.0005 ? "<0.1 %" : `${(100 * much).toFixed(1)} %`;
  const pairs = (numbers) => {
    const found = [];
    for (let place = 0; place < numbers.length; place += 2) found.push([numbers[place], numbers[place + 1] / 1e4]);
    return found;
  };
  const sums = (times) => {
    const total = new Map();
    for (const numbers of times) for (const [place, much] of pairs(numbers)) total.set(place, (total.get(place) || 0) + much);
    return [...total];
  };
  const slider = find("input[type=range]"), day = find(".day"), play = find("button"), said = find("output");
  const groups = layers.map(() => find("g.layers").appendChild(document.createElementNS(space, "g")));
  const boxes = [...box.querySelectorAll("input[data-layer]")], rows = [...box.querySelectorAll("tbody tr")];
  const show = () => {
    const time = Number(slider.value), whole = day.checked;
    said.textContent = whole ? "the whole day" : times.length ? `${times[time]} (step ${time} of ${last})` : `step ${time} of ${last}`;
    slider.setAttribute("aria-valuetext", said.textContent);
    layers.forEach((layer, number) => {
      const at = whole ? sums(layer.nodes) : pairs(layer.nodes[time] || []), on = whole ? sums(layer.streets) : pairs(layer.streets[time] || []);
      const most = whole ? Math.max(1, ...at.map(([, much]) => much)) : 1;
      const shift = layers.length > 1 ? 2.5 * (number - (layers.length - 1) / 2) : 0;
      const drawn = on.map(([place, much]) => {
        const [from, to, name] = streets[place], [x1, y1] = nodes[from], [x2, y2] = nodes[to];
        const long = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (shift * (y1 - y2)) / long, dy = (shift * (x2 - x1)) / long;
        return draw("line", { class: "shown", x1: x1 + dx, y1: y1 + dy, x2: x2 + dx, y2: y2 + dy, "stroke-width": 9 * Math.sqrt(much / most) }, `${layer.name}, ${name}: ${text(much, whole)}`);
      });
      for (const [place, much] of at) {
        const [x, y, name] = nodes[place];
        drawn.push(draw("circle", { class: layer.ring ? "ring" : "shown", cx: x + shift, cy: y, r: 18 * Math.sqrt(much / most) }, `${layer.name}, ${name}: ${text(much, whole)}`));
      }
      groups[number].replaceChildren(...drawn);
      groups[number].style.setProperty("--hue", `var(--${layer.hue})`);
      groups[number].style.display = boxes[number].checked ? "" : "none";
      rows[number].hidden = !boxes[number].checked;
      const told = [...at.map(([place, much]) => [nodes[place][2], much]), ...on.map(([place, much]) => [streets[place][2], much])];
      told.sort((one, other) => other[1] - one[1]);
      rows[number].cells[1].textContent = told.slice(0, 6).map(([name, much]) => `${name} ${text(much, whole)}`).join(" · ") || "nowhere";
    });
  };
  let running = null;
  const stop = () => { clearInterval(running); running = null; play.textContent = "Play"; };
  play.addEventListener("click", () => {
    if (running !== null) return stop();
    play.textContent = "Pause";
    day.checked = false;
    running = setInterval(() => { slider.value = (Number(slider.value) + 1) % (last + 1); show(); }, 700);
  });
  slider.addEventListener("input", () => { day.checked = false; stop(); show(); });
  for (const each of [day, ...boxes]) each.addEventListener("change", show);
  find(".all").addEventListener("change", (event) => box.classList.toggle("names", event.target.checked));
  for (const each of box.querySelectorAll(".when, .tools, table")) each.hidden = false;
  show();
}
