// A browser through a solved spot: the line above, a chart of hands, averages and a table below. Text is set as text.
// Numbers come from a source: those that are packed in the page, or a server's.
{
  const SUITS = { s: "♠", h: "♥", d: "♦", c: "♣" }, RANKS = "AKQJT98765432", NONE = 65535;
  const SEATS = ["oop", "ip"];
  const el = (tag, cls, ...content) => {
    const made = document.createElement(tag);
    if (cls) made.className = cls;
    made.append(...content.filter((each) => each !== null && each !== undefined));
    return made;
  };
  const knob = (text, onclick, cls = "") => { const made = make("button", text, onclick); made.className = cls; return made; };
  const digits = (number, count) => Number.isFinite(number) ? (Math.abs(number) < 0.5 / 10 ** count ? 0 : number).toFixed(count).replace("-", "−") : "–";
  const percent = (number) => Number.isFinite(number) ? `${digits(100 * number, 1)}%` : "–";
  const chips = (number) => number.toLocaleString("en");
  const card = (name, cls = "") => el("span", `card ${name[1]} ${cls}`, name[0] + SUITS[name[1]]);
  const classOf = (hand) => {
    const pair = hand[0] + hand[2];
    return hand[0] === hand[2] ? pair : pair + (hand[1] === hand[3] ? "s" : "o");
  };
  const classAt = (row, column) => {
    const pair = RANKS[Math.min(row, column)] + RANKS[Math.max(row, column)];
    return row === column ? pair : pair + (row < column ? "s" : "o");
  };

  const mean = (values, by, some) => {
    let sum = 0, total = 0;
    const add = (place) => { if (by[place] > 0 && !Number.isNaN(values[place])) { sum += by[place] * values[place]; total += by[place]; } };
    if (some) some.forEach(add); else for (let place = 0; place < by.length; place++) add(place);
    return total > 0 ? sum / total : NaN;
  };
  const combinations = (kind, cards) => {
    const free = [...RANKS].map((rank) => [..."shdc"].filter((suit) => !cards.includes(rank + suit)));
    const [one, two] = [free[RANKS.indexOf(kind[0])], free[RANKS.indexOf(kind[1])]];
    if (kind.length === 2) return one.length * (one.length - 1) / 2;
    const suited = one.filter((suit) => two.includes(suit)).length;
    return kind[2] === "s" ? suited : one.length * two.length - suited;
  };

  // What is packed in a page.
  const packedIn = (box) => {
    const spot = JSON.parse(box.dataset.spot), packed = atob(box.dataset.numbers), nodes = spot.nodes;
    const bytes = new Uint8Array(packed.length);
    for (let place = 0; place < packed.length; place++) bytes[place] = packed.charCodeAt(place);
    const words = new DataView(bytes.buffer), count = nodes.mover.length;
    const kids = nodes.mover.map(() => []);
    for (let node = 1; node < count; node++) kids[nodes.parent[node]].push(node);
    const name = (node) => spot.names[nodes.label[node]];
    const board = (node) => spot.boards[nodes.board[node]];
    const pot = (node) => spot.pot + nodes.paid[0][node] + nodes.paid[1][node];
    const same = spot.hands.map((hands, seat) => {
      const places = new Map(spot.hands[1 - seat].map((hand, place) => [hand, place]));
      return hands.map((hand) => places.get(hand) ?? -1);
    });

    // Numbers of a node: what the mover plays and its EVs by action, the other's EV, both equities.
    const known = new Map();
    const numbers = (node) => {
      if (known.has(node)) return known.get(node);
      const mover = nodes.mover[node], mine = spot.hands[mover].length, others = spot.hands[1 - mover].length;
      let place = nodes.at[node];
      const take = (size, low, high) => {
        const found = new Float64Array(size);
        for (let each = 0; each < size; each++, place++) {
          const word = words.getUint16(2 * place, true);
          found[each] = word === NONE ? NaN : low + (high - low) * word / (NONE - 1);
        }
        return found;
      };
      const scaled = (size) => {
        const low = words.getFloat32(2 * place, true), high = words.getFloat32(2 * place + 4, true);
        place += 4;
        return take(size, low, high);
      };
      const plays = kids[node].map(() => take(mine, 0, 1)), evs = kids[node].map(() => scaled(mine));
      const other = scaled(others), equities = [take(mine, 0, 1), take(others, 0, 1)];
      const own = plays[0].map((_, hand) => plays.reduce((sum, part, action) => part[hand] ? sum + part[hand] * evs[action][hand] : sum, evs[0][hand] * 0));
      const found = { mover, plays, evs, ev: [], equity: [] };
      found.ev[mover] = own; found.ev[1 - mover] = other;
      found.equity[mover] = equities[0]; found.equity[1 - mover] = equities[1];
      known.set(node, found);
      return found;
    };
    const reached = new Map();
    const reach = (node) => {
      if (reached.has(node)) return reached.get(node);
      let found = spot.weights.map((weights) => Float64Array.from(weights));
      if (node > 0) {
        const parent = nodes.parent[node], before = reach(parent), mover = nodes.mover[parent];
        found = before.map((one) => one.slice());
        if (mover >= 0) {
          const played = numbers(parent).plays[kids[parent].indexOf(node)];
          found[mover] = found[mover].map((weight, hand) => weight * played[hand]);
        } else {
          const dealt = name(node);
          found = found.map((one, seat) => one.map((weight, hand) => {
            const held = spot.hands[seat][hand];
            return held.startsWith(dealt) || held.endsWith(dealt) ? 0 : weight;
          }));
        }
      }
      reached.set(node, found);
      return found;
    };
    // How much of the other's hands goes with each hand: all but those that hold one of its cards.
    const weights = (node) => [0, 1].map((seat) => {
      const own = reach(node)[seat], theirs = reach(node)[1 - seat], by = {};
      let total = 0;
      theirs.forEach((weight, hand) => {
        const held = spot.hands[1 - seat][hand];
        total += weight;
        for (const one of [held.slice(0, 2), held.slice(2)]) by[one] = (by[one] || 0) + weight;
      });
      return own.map((weight, hand) => {
        const held = spot.hands[seat][hand], twice = same[seat][hand];
        const met = total - (by[held.slice(0, 2)] || 0) - (by[held.slice(2)] || 0) + (twice >= 0 ? theirs[twice] : 0);
        return weight * Math.max(0, met);
      });
    });
    const averages = (node) => {
      const read = numbers(node), by = weights(node);
      return {
        ev: [0, 1].map((seat) => mean(read.ev[seat], by[seat])),
        equity: [0, 1].map((seat) => mean(read.equity[seat], by[seat])),
        plays: read.plays.map((part) => mean(part, by[read.mover])),
        likely: by[0].reduce((sum, one) => sum + one, 0),
      };
    };

    const at = (path) => path.reduce((node, step) => kids[node].find((kid) => name(kid) === step), 0);
    const step = (node) => {
      const mover = nodes.mover[node], folded = node > 0 && name(node) === "fold";
      return {
        mover, board: board(node).match(/../g), pot: pot(node), actions: kids[node].map(name),
        colours: kids[node].map((kid) => spot.palette[nodes.hue[kid]]), shares: mover >= 0 ? averages(node).plays : [],
        winner: folded ? 1 - nodes.mover[nodes.parent[node]] : -1,
      };
    };
    return {
      spot,
      steps: async (path) => [...path, ""].map((_, depth) => step(at(path.slice(0, depth)))),
      node: async (path) => { const node = at(path); return { ...numbers(node), reach: reach(node), by: weights(node), means: averages(node) }; },
      runouts: async (path) => {
        const node = at(path), some = nodes.mover[node] === -1 ? kids[node] : [];
        if (!some.length) return null;
        const { mover, actions, colours } = step(some[0]);
        return { mover, actions, colours, left: spot.deck.length - board(node).length / 2 - some.length,
          cards: some.map((kid) => ({ card: name(kid), ...averages(kid) })) };
      },
    };
  };

  const browse = (box, source) => {
    const { spot } = source;
    const classes = spot.hands.map((hands) => {
      const found = new Map();
      hands.forEach((hand, place) => { const kind = classOf(hand); if (!found.has(kind)) found.set(kind, []); found.get(kind).push(place); });
      return found;
    });
    // Units of EV: how many chips one is, at a pot.
    const units = { chips: ["chips", () => 1, 2], ...(spot.blind && { bb: ["BB", () => spot.blind, 3] }), pot: ["% of pot", (pot) => pot / 100, 2] };
    const worth = (value, less = 0, pot = steps[state.depth].pot) => {
      const [, size, count] = units[state.unit];
      return digits(value / size(pot), Math.max(0, count - less));
    };
    const state = { path: [], depth: 0, seat: 0, unit: spot.unit ?? "chips", by: "action", kind: "", sort: "ev", down: true };
    const strip = el("div", "strip"), head = el("div", "spot-head"), tools = el("div", "tools");
    const grid = el("div", "hands"), key = el("div", "key"), table = el("div", "scroll spot-table"), runouts = el("div", "runouts");
    const chosen = el("div", "chosen dim"), told = el("p", "bad");
    told.setAttribute("role", "status");
    told.hidden = true;
    box.append(told, strip, head, el("div", "views", el("div", "view-chart", tools, grid, key), el("div", "view-table", chosen, table)), runouts);

    // What is shown: the decisions and cards of the line, the numbers of one of its decisions, and what moves the focus.
    let steps = [], read = null, drawn = 0;
    const fresh = () => { state.kind = ""; state.sort = "ev"; state.down = true; };
    const show = async (path, depth, { focus = false, push = true } = {}) => {
      const turn = ++drawn;
      try {
        const found = await source.steps(path);
        const last = found.findLastIndex((step) => step.mover >= 0);
        if (last < 0) { box.replaceChildren("Nobody has anything to decide."); return; }
        const at = depth !== undefined && found[depth]?.mover >= 0 ? depth : last;
        const numbers = await source.node(path.slice(0, at));
        if (turn !== drawn) return;
        [steps, read, told.hidden] = [found, numbers, true];
        Object.assign(state, { path, depth: at, seat: found[at].mover });
        fresh();
        draw();
        if (source.moved && push) source.moved(path, at === last ? undefined : at);
        strip.scrollTo({ left: strip.scrollWidth });
        if (focus) knobs()[0]?.focus({ preventScroll: true });
        runouts.replaceChildren(found.at(-1).mover === -1 ? el("p", "dim", "By the next card …") : "");
        const cards = await source.runouts(path);
        if (turn === drawn) drawRunouts(cards);
      } catch (error) {
        if (turn !== drawn) return;
        told.textContent = error.message;
        told.hidden = false;
      }
    };
    const go = (path) => show(path, undefined, { focus: true });

    const drawStrip = () => {
      const columns = steps.map((step, depth) => {
        const before = state.path.slice(0, depth), next = state.path[depth];
        if (step.mover >= 0) {
          const title = knob(`${SEATS[step.mover].toUpperCase()} · ${chips(step.pot)}`, () => show(state.path, depth), "who");
          title.title = "Show this decision";
          title.setAttribute("aria-pressed", String(depth === state.depth));
          const actions = step.actions.map((action, place) => {
            const button = knob("", () => go([...before, action]), "act");
            button.append(el("i", "dot"), el("span", "", action), el("span", "much", percent(step.shares[place])));
            button.firstChild.style.background = step.colours[place];
            button.setAttribute("aria-pressed", String(action === next));
            return button;
          });
          return el("div", depth === state.depth ? "step shown" : "step", title, ...actions);
        }
        if (step.mover === -2) {
          const said = step.winner >= 0 ? `${SEATS[step.winner].toUpperCase()} wins` : "Showdown";
          return el("div", "step end", el("b", "", said), el("span", "much", `pot ${chips(step.pot)}`));
        }
        if (step.mover === -3) return el("div", "step end", el("b", "", "All-in"), el("span", "much", `pot ${chips(step.pot)}, cards to come`));
        const street = step.board.length === 3 ? "Turn" : "River";
        if (next !== undefined) {
          const back = knob("", () => go(before), "act");
          back.append(card(next));
          back.title = "Another card";
          return el("div", "step", el("span", "who", street), back);
        }
        const cards = el("div", "deck");
        const ranks = [...RANKS].filter((rank) => spot.deck.includes(rank + "s"));
        cards.style.setProperty("--ranks", ranks.length);
        for (const suit of "shdc") for (const rank of ranks) {
          const button = knob("", () => go([...before, rank + suit]));
          button.append(card(rank + suit));
          button.disabled = !step.actions.includes(rank + suit);
          button.setAttribute("aria-label", rank + suit);
          if (button.disabled && !step.board.includes(rank + suit)) button.title = "Not on this page";
          cards.append(button);
        }
        return el("div", "step pick", el("span", "who", `${street}: choose a card`), cards);
      });
      strip.replaceChildren(...columns);
    };

    const drawHead = () => {
      const { board, pot, mover } = steps[state.depth], { means } = read;
      const row = (seat) => el("tr", seat === mover ? "moves" : "",
        el("th", "", SEATS[seat].toUpperCase()), el("td", "", worth(means.ev[seat])), el("td", "", percent(means.equity[seat])));
      const both = el("table", "pair", el("thead", "", el("tr", "", el("th", ""), el("th", "", state.unit === "chips" ? "EV" : `EV, ${units[state.unit][0]}`), el("th", "", "equity"))), el("tbody", "", row(0), row(1)));
      const frequencies = steps[state.depth].actions.map((action, place) => `${action} ${percent(means.plays[place])}`).join(" · ");
      const sort = { action: "", ev: ", by EV", equity: ", by equity" }[state.by];
      const line = el("div", "printed", el("b", "", `${SEATS[mover].toUpperCase()} to act · ${state.path.slice(0, state.depth).join(", ") || "at the root"}`), el("div", "", frequencies), el("div", "dim", `Hands of ${SEATS[state.seat].toUpperCase()}${sort}`));
      head.replaceChildren(line, el("div", "", el("span", "board", ...board.map((one) => card(one))), el("div", "dim", `pot ${chips(pot)}`)), both);
    };

    const choice = (current, options, pick) => {
      const group = el("span", "choice");
      for (const [value, text] of options) {
        const button = knob(text, () => { pick(value); draw(); });
        button.setAttribute("aria-pressed", String(value === current));
        group.append(button);
      }
      return group;
    };
    const drawTools = () => tools.replaceChildren(
      choice(state.seat, [[0, "OOP"], [1, "IP"]], (seat) => { state.seat = seat; fresh(); }),
      choice(state.by, [["action", "Actions"], ["ev", "EV"], ["equity", "Equity"]], (by) => { state.by = by; }),
      choice(state.unit, Object.entries(units).map(([unit, [text]]) => [unit, text]), (unit) => { state.unit = unit; drawRunouts(runs); }),
      knob("Print chart", print), knob("Print all", printAll));
    // A spot's page is printed as the chart alone, on one page; in a notebook, only the button does so.
    let whole = false;
    const isolate = () => {
      const others = [table, chosen, runouts];
      for (let one = box; one !== document.body; one = one.parentElement) others.push(...[...one.parentElement.children].filter((each) => each !== one));
      others.forEach((each) => each.classList.add("unprinted"));
    };
    addEventListener("beforeprint", () => { if (!whole && document.body.classList.contains("treeplex")) isolate(); });
    addEventListener("afterprint", () => document.querySelectorAll(".unprinted").forEach((each) => each.classList.remove("unprinted")));
    const print = () => { isolate(); window.print(); };
    const printAll = () => { whole = true; window.print(); whole = false; };

    const shade = (part) => {  // from orange to blue; black is read on all of them
      const stops = spot.shades.map((hue) => [1, 3, 5].map((place) => parseInt(hue.slice(place, place + 2), 16)));
      const place = 2 * Math.min(1, Math.max(0, part)), low = Math.min(1, Math.floor(place)), rest = place - low;
      return stops[low].map((one, each) => Math.round(one + rest * (stops[low + 1][each] - one)));
    };
    const drawGrid = () => {
      const { seat } = state, step = steps[state.depth], own = read.reach[seat], by = read.by[seat];
      const moves = seat === step.mover && state.by === "action", rows = new Map();
      for (const [kind, places] of classes[seat]) {
        const free = combinations(kind, step.board), there = places.reduce((sum, place) => sum + own[place], 0);
        rows.set(kind, {
          there: free ? Math.min(1, there / free) : 0,
          plays: moves ? read.plays.map((part) => mean(part, by, places)) : [],
          ev: mean(read.ev[seat], by, places), equity: mean(read.equity[seat], by, places),
        });
      }
      const evs = [...rows.values()].map((row) => row.ev).filter(Number.isFinite);
      const low = state.by === "equity" ? 0 : Math.min(...evs), high = state.by === "equity" ? 1 : Math.max(...evs);
      const cells = [], focused = [...grid.children].indexOf(document.activeElement);
      for (let row = 0; row < 13; row++) for (let column = 0; column < 13; column++) {
        const kind = classAt(row, column), found = rows.get(kind);
        const cell = knob(kind, () => { state.kind = state.kind === kind ? "" : kind; draw(); }, "hand");
        cell.setAttribute("aria-pressed", String(kind === state.kind));
        if (found && found.there > 5e-4) {
          const fill = el("i", "fill");
          fill.style.height = `${Math.max(4, 100 * found.there)}%`;
          if (moves && Number.isFinite(found.plays[0])) {
            let end = 0;
            const parts = found.plays.map((part, action) => [part, step.colours[action]]);
            const stops = parts.reverse().map(([part, hue]) => { const start = end; end += 100 * part; return `${hue} ${start.toFixed(2)}% ${end.toFixed(2)}%`; });
            fill.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
          } else if (state.by !== "action" && Number.isFinite(found[state.by])) {
            const hue = shade(high > low ? (found[state.by] - low) / (high - low) : 0.5);
            fill.style.background = `rgb(${hue.join(" ")})`;
            cell.append(el("small", "", state.by === "equity" ? `${Math.round(100 * found.equity)}%` : worth(found.ev, Math.abs(found.ev / units[state.unit][1](step.pot)) < (state.unit === "bb" ? 10 : 100) ? 1 : 2)));
          }
          cell.prepend(fill);
          const said = found.plays.map((part, action) => `${step.actions[action]} ${percent(part)}`);
          cell.title = [kind, ...said, `EV ${worth(found.ev)} ${units[state.unit][0]}`, `equity ${percent(found.equity)}`, `in range ${percent(found.there)}`].join("\n");
        } else cell.classList.add("none");
        cells.push(cell);
      }
      // One of the cells is in the order of Tab; arrows lead to the others.
      const first = Math.max(0, focused, cells.findIndex((cell) => cell.getAttribute("aria-pressed") === "true"));
      cells.forEach((cell, place) => { cell.tabIndex = place === first ? 0 : -1; });
      grid.replaceChildren(...cells);
      if (focused >= 0) cells[focused].focus({ preventScroll: true });
      const names = moves ? step.actions.map((action, place) => [action, step.colours[place]]) : [];
      key.replaceChildren(...names.map(([text, hue]) => { const dot = el("i", "dot"); dot.style.background = hue; return el("span", "", dot, text); }));
      if (state.by !== "action") {
        const ends = state.by === "ev" ? [low, high].map((end) => worth(end, 1)) : ["0%", "100%"], bar = el("i", "ramp");
        bar.style.background = `linear-gradient(to right, ${spot.shades.join(", ")})`;
        key.append(el("span", "", state.by === "ev" ? `EV in ${units[state.unit][0]}` : "equity", el("span", "dim", ends[0]), bar, el("span", "dim", ends[1])));
      }
      key.append(el("span", "dim", "Filled as high as the part of the hands that is there."));
    };

    const drawTable = () => {
      const { seat } = state, step = steps[state.depth], own = read.reach[seat], by = read.by[seat];
      const total = by.reduce((sum, one) => sum + one, 0), acts = seat === step.mover ? step.actions : [];
      const columns = [
        ["hand", (place) => spot.hands[seat][place]], ["ev", (place) => read.ev[seat][place], "EV", "EV"],
        ["equity", (place) => read.equity[seat][place], "%"],
        ...acts.map((text, action) => [text, (place) => read.plays[action][place], "%", text, step.colours[action]]),
        ...acts.map((text, action) => [`ev ${text}`, (place) => read.evs[action][place], "EV", `EV ${text}`]),
        ["reach", (place) => own[place], "%"], ["weight", (place) => by[place] / total, "%"],
      ];
      const places = spot.hands[seat].map((_, place) => place).filter((place) =>
        own[place] > 5e-4 && Number.isFinite(read.ev[seat][place]) && (!state.kind || classOf(spot.hands[seat][place]) === state.kind));
      const [, value] = columns.find(([column]) => column === state.sort) || columns[1];
      places.sort((one, two) => (state.down ? -1 : 1) * order(value(one), value(two)));
      const headings = columns.map(([column, , , text]) => {
        const button = make("button", text || column, () => { state.down = state.sort === column ? !state.down : column !== "hand"; state.sort = column; draw(); });
        button.title = "Sort";
        const heading = el("th", "", button);
        heading.scope = "col";
        if (state.sort === column) heading.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        return heading;
      });
      const rows = places.map((place) => el("tr", "", ...columns.map(([column, get, form, , hue]) => {
        const found = get(place);
        if (column === "hand") return el("th", "", card(found.slice(0, 2), "flat"), card(found.slice(2), "flat"));
        const cell = el("td", hue ? "share" : "", form === "%" ? percent(found) : worth(found));
        if (hue) { cell.style.setProperty("--of", Math.min(1, Math.max(0, found))); cell.style.setProperty("--share", hue + "8c"); }
        return cell;
      })));
      table.replaceChildren(el("table", "", el("thead", "", el("tr", "", ...headings)), el("tbody", "", ...rows)));
      const all = spot.hands[seat].filter((_, place) => own[place] > 5e-4).length;
      chosen.replaceChildren(`${SEATS[seat].toUpperCase()}: ${state.kind ? `${places.length} of ${all} hands, ${state.kind}` : `${all} hands`}`);
      if (state.kind) chosen.append(" ", knob("all hands", () => { state.kind = ""; draw(); }));
    };

    let runs = null;
    const drawRunouts = (found) => {
      runs = found;
      if (!found) { runouts.replaceChildren(); return; }
      const { cards, left } = found, total = cards.reduce((sum, each) => sum + each.likely, 0);
      cards.sort((one, two) => RANKS.indexOf(one.card[0]) - RANKS.indexOf(two.card[0]) || "shdc".indexOf(one.card[1]) - "shdc".indexOf(two.card[1]));
      const average = (value) => cards.reduce((sum, each) => Number.isFinite(value(each)) ? sum + each.likely * value(each) : sum, 0) / total;
      const columns = [["EV oop", (each) => each.ev[0], "EV"], ["EV ip", (each) => each.ev[1], "EV"], ["equity oop", (each) => each.equity[0], "%"],
        ...found.actions.map((text, action) => [text, (each) => each.plays[action], "%", found.colours[action]])];
      const cells = (value) => columns.map(([, get, form, hue]) => {
        const one = value(get), cell = el("td", hue ? "share" : "", form === "%" ? percent(one) : worth(one, 0, steps.at(-1).pot));
        if (hue) { cell.style.setProperty("--of", one); cell.style.setProperty("--share", hue + "8c"); }
        return cell;
      });
      const rows = [el("tr", "mean", el("th", "", "average"), ...cells(average)), ...cards.map((each) => {
        const pick = knob("", () => go([...state.path, each.card]), "plain");
        pick.append(card(each.card));
        return el("tr", "", el("th", "", pick), ...cells((get) => get(each)));
      })];
      const headings = ["card", ...columns.map(([text]) => text)].map((text) => el("th", "", text));
      const whole = el("table", "", el("thead", "", el("tr", "", ...headings)), el("tbody", "", ...rows));
      runouts.replaceChildren(el("h3", "", `By the next card: ${SEATS[found.mover].toUpperCase()} acts first`), el("div", "scroll", whole),
        left ? el("p", "dim", `${left} cards are not on this page; the average is over those that are.`) : "");
    };

    const draw = () => { drawStrip(); drawHead(); drawTools(); drawGrid(); drawTable(); };

    // Keys: arrows move among actions, cards and classes, or back and on; Escape leaves a class, then the line.
    const knobs = () => [...(strip.lastElementChild?.querySelectorAll(".act, .deck button:enabled") ?? [])];
    const walk = (cells, wide, event) => {
      const place = cells.indexOf(document.activeElement), by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[event.key];
      if (place < 0 || by === undefined) return false;
      for (let next = place + by; next >= 0 && next < cells.length; next += by) {
        if (Math.abs(by) === 1 && Math.floor(next / wide) !== Math.floor(place / wide)) break;
        if (!cells[next].disabled) { cells[next].focus(); break; }
      }
      return true;
    };
    const pressed = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, summary")) return;
      const deck = [...strip.querySelectorAll(".deck button")], some = knobs(), place = some.indexOf(document.activeElement);
      if (walk([...grid.children], 13, event) || walk(deck, deck.length / 4, event)) { event.preventDefault(); return; }
      const back = () => { if (state.path.length) go(state.path.slice(0, -1)); };
      const act = {
        ArrowDown: () => some[Math.min(place + 1, some.length - 1)]?.focus(),
        ArrowUp: () => some[place < 0 ? some.length - 1 : Math.max(place - 1, 0)]?.focus(),
        ArrowLeft: back, Backspace: back,
        ArrowRight: () => (place < 0 ? some[0]?.focus() : some[place].click()),
        Escape: () => { if (state.kind) { state.kind = ""; draw(); } else go([]); },
        Enter: document.activeElement === document.body ? () => some[0]?.click() : undefined,
      }[event.key];
      if (act) { event.preventDefault(); act(); }
    };
    (source.moved ? document : box).addEventListener("keydown", pressed);
    if (source.opened) source.opened(show); else show([]);
  };
  for (const box of document.querySelectorAll("[data-spot]")) browse(box, packedIn(box));
  for (const box of document.querySelectorAll("[data-served]")) browse(box, servedBy(box));
}
