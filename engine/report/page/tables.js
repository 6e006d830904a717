// The tables of a report: results, setup, differences of configuration, events.
const runName = (run) => data.runs[run].name;
const runCell = (run) => element("span", {class: "run-name"}, swatch(run), element("span", {class: runName(run).length <= 22 ? "run-text short" : "run-text"}, runName(run)));

/** A table whose rows become cards on a narrow page. Cells are texts or nodes. */
function cardTable(head, rows) {
  return element("table", {class: "card-table"},
    element("thead", {}, element("tr", {}, ...head.map((label) => element("th", {scope: "col"}, label)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, i) =>
      element(i === 0 ? "th" : "td", {"data-label": head[i], scope: i === 0 ? "row" : null,
        class: typeof cell !== "string" ? null : cell === "–" ? "none" : cell.length <= 20 ? "short" : null}, cell))))));
}

/** Labels of a list of facts of all runs, in the order of the run that has the most of them. */
function labelsOf(key) {
  const labels = [];
  for (const run of [...data.runs].sort((a, b) => b[key].length - a[key].length))
    for (const [label] of run[key]) if (!labels.includes(label)) labels.push(label);
  return labels;
}
const factOf = (run, key, label) => (run[key].find(([name]) => name === label) || [label, "–"])[1];

/** A row for each run, a column for each label. */
function factTable(key, labels, first) {
  const rows = data.runs.map((run, i) =>
    [runCell(i), ...(first ? [first[1](run)] : []), ...labels.map((label) => factOf(run, key, label))]);
  return cardTable(["Run", ...(first ? [first[0]] : []), ...labels], rows);
}

/** What all runs share is said once; the table has the rest. */
function setupParts() {
  const labels = labelsOf("setup");
  const isShared = (label) => data.runs.every((run) => factOf(run, "setup", label) === factOf(data.runs[0], "setup", label));
  const shared = labels.filter(isShared), own = labels.filter((label) => !isShared(label));
  const list = element("dl", {class: "card facts"}, ...shared.map((label) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, factOf(data.runs[0], "setup", label)))));
  return [shared.length ? list : null, own.length ? factTable("setup", own, null) : null];
}

const kStateMarks = {finished: "✓", stopped: "■", running: "▶", interrupted: "!"};
function stateCell(run) {
  return element("span", {class: "state state-" + run.state}, element("span", {"aria-hidden": "true"}, kStateMarks[run.state]),
    run.state_text);
}

function runsSection() {
  const isWide = window.matchMedia("(min-width: 701px)").matches;
  return section("runs", "Runs", null, factTable("results", labelsOf("results"), ["State", stateCell]), differences(),
    element("details", {open: isWide, class: "fold"}, element("summary", {}, "Setup"), ...setupParts()));
}

/** The keys in which the runs differ, with a column for each run. */
function differences() {
  if (data.runs.length < 2) return null;
  if (data.differences.length === 0) return element("p", {class: "note"}, "The runs have the same configuration.");
  const head = element("tr", {}, element("th", {scope: "col"}, "Key"), ...data.runs.map((run, i) => element("th", {scope: "col"}, runCell(i))));
  const rows = data.differences.map(({key, values}) => element("tr", {}, element("th", {scope: "row"}, element("code", {}, key)),
    ...values.map((value) => element("td", {}, value === null ? "–" : element("code", {}, value)))));
  return element("div", {}, element("h3", {}, "Configuration: the keys in which the runs differ"),
    element("div", {class: "scroll card", tabindex: 0, role: "region", "aria-label": "Differences of configuration"},
      element("table", {class: "grid-table"}, element("thead", {}, head), element("tbody", {}, ...rows))));
}

function eventsSection() {
  const rows = data.runs.flatMap((run, i) => run.events.map(([step, text]) => [runCell(i), String(step), text]));
  if (rows.length === 0) return null;
  return section("events", "Events", null, cardTable(["Run", "Step", "What happened"], rows));
}
