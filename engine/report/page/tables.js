// The tables of a report: results, setup, differences of configuration, events.
const runName = (run) => data.runs[run].name;
const runCell = (run) => element("span", {class: "run-name"}, swatch(run), element("span", {class: "run-text"}, runName(run)));

/** A table whose rows become cards on a narrow page. Cells are texts or nodes. */
function cardTable(head, rows) {
  return element("table", {class: "card-table"},
    element("thead", {}, element("tr", {}, ...head.map((label) => element("th", {scope: "col"}, label)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, i) =>
      element(i === 0 ? "th" : "td", {"data-label": head[i], scope: i === 0 ? "row" : null,
        class: typeof cell === "string" && cell.length <= 16 ? "short" : null}, cell))))));
}

/** A table of labeled facts: a row for each run, a column for each label that a run has. */
function factTable(key, first) {
  const labels = [];
  for (const run of data.runs)
    for (const [label] of run[key]) if (!labels.includes(label)) labels.push(label);
  const rows = data.runs.map((run, i) => {
    const facts = new Map(run[key]);
    return [runCell(i), ...(first ? [first[1](run)] : []), ...labels.map((label) => facts.get(label) || "–")];
  });
  return cardTable(["Run", ...(first ? [first[0]] : []), ...labels], rows);
}

const kStateMarks = {finished: "✓", stopped: "■", running: "▶", interrupted: "!"};
function stateCell(run) {
  return element("span", {class: "state state-" + run.state}, element("span", {"aria-hidden": "true"}, kStateMarks[run.state]),
    run.state_text);
}

function runsSection() {
  return section("runs", "Runs", null, factTable("results", ["State", stateCell]),
    element("h3", {}, "Setup"), factTable("setup", null));
}

function differencesSection() {
  if (data.runs.length < 2) return null;
  if (data.differences.length === 0)
    return section("differences", "Configuration", "The runs have the same configuration.");
  const head = element("tr", {}, element("th", {scope: "col"}, "Key"), ...data.runs.map((run, i) => element("th", {scope: "col"}, runCell(i))));
  const rows = data.differences.map(({key, values}) => element("tr", {}, element("th", {scope: "row"}, element("code", {}, key)),
    ...values.map((value) => element("td", {}, value === null ? "–" : element("code", {}, value)))));
  return section("differences", "Configuration", "The keys in which the runs differ.",
    element("div", {class: "scroll card", tabindex: 0, role: "region", "aria-label": "Differences of configuration"},
      element("table", {class: "grid-table"}, element("thead", {}, head), element("tbody", {}, ...rows))));
}

function eventsSection() {
  const rows = data.runs.flatMap((run, i) => run.events.map(([step, text]) => [runCell(i), String(step), text]));
  if (rows.length === 0) return null;
  return section("events", "Events", null, cardTable(["Run", "Step", "What happened"], rows));
}
