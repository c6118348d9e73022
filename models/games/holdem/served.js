// The numbers of a solved spot that treeplex browse serves: a source for the browser, which asks the page's own server.
const servedBy = (box) => {
  const spot = JSON.parse(box.dataset.served);
  const number = (value) => value === null ? NaN : value, all = (values) => values.map(number);
  const ask = async (what, path) => {
    let answer;
    try { answer = await fetch(`${what}?at=${encodeURIComponent(path.join(", "))}`); } catch { throw new Error("The server has ended: start treeplex browse again."); }
    if (!answer.ok) throw new Error(answer.status === 400 ? (await answer.json()).error : `The server answered ${answer.status}.`);
    return answer.json();
  };
  const known = new Map();
  const once = (what, path, read) => {
    const key = `${what} ${path.join(",")}`;
    if (!known.has(key)) {
      if (known.size > 200) known.delete(known.keys().next().value);
      known.set(key, ask(what, path).then(read));
      known.get(key).catch(() => known.delete(key));
    }
    return known.get(key);
  };
  const means = (read) => ({ ...read, ev: all(read.ev), equity: all(read.equity), plays: all(read.plays) });
  return {
    spot,
    steps: (path) => once("steps", path, (steps) => steps.map((step) => ({ ...step, shares: all(step.shares) }))),
    node: (path) => once("node", path, (read) => ({ ...read, ev: read.ev.map(all), equity: read.equity.map(all), evs: read.evs.map(all), means: means(read.means) })),
    runouts: (path) => once("runouts", path, (read) => read && { ...read, cards: read.cards.map(means) }),
    // The page's address holds the line, and which of its decisions is shown.
    moved: (path, depth) => {
      const now = new URLSearchParams();
      if (path.length) now.set("at", path.join(", "));
      if (depth !== undefined) now.set("shown", depth);
      if (location.hash.slice(1) !== now.toString()) history.pushState(null, "", `#${now}`);
    },
    opened: (show) => {
      const read = () => {
        const given = new URLSearchParams(location.hash.slice(1)), path = (given.get("at") ?? "").split(",").map((one) => one.trim()).filter(Boolean);
        show(path, given.has("shown") ? Number(given.get("shown")) : undefined, { push: false });
      };
      addEventListener("popstate", read);
      read();
    },
  };
};
