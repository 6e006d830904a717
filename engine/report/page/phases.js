// What the time of a step is spent on: bars of all runs, areas over steps, and the slowest ranks.
const kPhases = ["forward", "backward", "update", "reduce", "gather", "control", "offload", "data", "save", "validation", "other"];
const phaseClass = (name) => "phase-" + name;
const phaseMark = (name) => element("span", {class: "mark " + phaseClass(name), "aria-hidden": "true"});
const inOrder = (phases) => [...phases].sort((a, b) => kPhases.indexOf(a.name) - kPhases.indexOf(b.name));

/** Seconds of one step, stacked: a chart of one run. */
class PhaseChart extends Chart {
  constructor(run, height) {
    const phases = data.runs[run].phases;
    super({title: "Seconds of a step", unit: "s, of the slowest rank", height, valueText: (value) => numberText(value, 3), series: []});
    this.run = run;
    const sums = phases.step.map(() => 0);
    this.layers = inOrder(phases.phases).map((phase) => {
      const below = [...sums];
      phase.seconds.forEach((value, i) => { sums[i] += value || 0; });
      return {name: phase.name, seconds: phase.seconds, below, above: [...sums]};
    });
    this.series = [{run, x: phases, mean: sums, style: "plain"}];
  }
  shown() { return this.series; }
  xRange() {
    const places = this.points(this.series[0]).x;
    const first = places[0] < places[places.length - 1] / 8 ? 0 : places[0];
    return state.zoom || (places[places.length - 1] > first ? [first, places[places.length - 1]] : [first - 0.5, first + 0.5]);
  }
  yRange(xRange) { return [0, super.yRange(xRange)[1]]; }
  paint(group) {
    const {x: at} = this.points(this.series[0]);
    const kept = this.series[0].x[state.axis].map((x, i) => (x === null ? -1 : i)).filter((i) => i >= 0);
    // Points mark the middles of columns. Steps with the values of a column show what was measured.
    const edges = at.map((x, i) => (i === 0 ? x : (at[i - 1] + x) / 2)).concat(at.slice(-1));
    for (const layer of this.layers) {
      let top = "", under = "";
      kept.forEach((k, i) => {
        const from = this.x(edges[i]).toFixed(1), to = Math.max(this.x(edges[i + 1]), this.x(edges[i]) + 1).toFixed(1);
        top += `${i ? "L" : "M"}${from} ${this.y(layer.above[k]).toFixed(1)}L${to} ${this.y(layer.above[k]).toFixed(1)}`;
        under = `L${to} ${this.y(layer.below[k]).toFixed(1)}L${from} ${this.y(layer.below[k]).toFixed(1)}` + under;
      });
      group.append(shape("path", {class: "area " + phaseClass(layer.name), d: top + under + "Z"}));
    }
  }
  rows(x) {
    const i = nearest(this.points(this.series[0]).x, x);
    if (i < 0) return [];
    const total = this.series[0].mean[i];
    return this.layers.filter((layer) => layer.seconds[i] > 0).reverse().map((layer) => ({
      mark: phaseMark(layer.name), name: layer.name, value: timeText(layer.seconds[i]), at: null,
      more: total > 0 ? Math.round((100 * layer.seconds[i]) / total) + " %" : ""}));
  }
}

function phaseLegend(runs) {
  const names = new Set(runs.flatMap((run) => data.runs[run].phases.phases.map((phase) => phase.name)));
  return element("ul", {class: "phase-legend"}, ...kPhases.filter((name) => names.has(name))
    .map((name) => element("li", {}, phaseMark(name), name)));
}

/** One bar for each run on a common scale: seconds of a mean step. */
function phaseBars(runs) {
  const total = (run) => data.runs[run].phases.phases.reduce((sum, phase) => sum + phase.mean, 0);
  const longest = Math.max(...runs.map(total));
  const bars = runs.map((run) => {
    const parts = inOrder(data.runs[run].phases.phases).map((phase) => {
      const share = Math.round((100 * phase.mean) / total(run)) + " %";
      const part = element("span", {class: "part " + phaseClass(phase.name), title: `${phase.name}: ${timeText(phase.mean)}, ${share}`});
      part.style.width = (100 * phase.mean) / longest + "%";
      return part;
    });
    return element("div", {class: "bar-row", "data-run": run},
      element("div", {class: "bar-head"}, runCell(run), element("span", {class: "bar-value"}, timeText(total(run)))),
      element("div", {class: "bar", "aria-hidden": "true"}, ...parts));
  });
  return element("div", {class: "card"}, element("h3", {}, "Mean time of a logged step"), phaseLegend(runs), ...bars,
    element("details", {}, element("summary", {}, "As a table"), phaseTable(runs)));
}

function phaseTable(runs) {
  const names = kPhases.filter((name) => runs.some((run) => data.runs[run].phases.phases.some((phase) => phase.name === name)));
  return element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Phases"}, element("table", {class: "grid-table"},
    element("thead", {}, element("tr", {}, element("th", {}, "Phase"), ...runs.map((run) => element("th", {}, runCell(run))))),
    element("tbody", {}, ...names.map((name) => element("tr", {}, element("th", {scope: "row"}, phaseMark(name), name),
      ...runs.map((run) => {
        const found = data.runs[run].phases.phases.find((phase) => phase.name === name);
        return element("td", {}, found ? timeText(found.mean) : "–");
      }))))));
}

function slowestRanks(phases) {
  const [first] = phases.slowest;
  const most = first[1];
  const text = phases.ranks === 1 ? `Rank ${first[0]} was the slowest in all ${phases.lines} logged steps.`
    : `Rank ${first[0]} was the slowest in ${most} of ${phases.lines} logged steps.`;
  const rows = phases.slowest.map(([rank, count]) => {
    const bar = element("span", {class: "rank-bar"});
    bar.style.width = Math.max((100 * count) / most, 1) + "%";
    return element("tr", {}, element("th", {scope: "row"}, "rank " + rank), element("td", {class: "rank-place"}, bar),
      element("td", {class: "number"}, String(count)));
  });
  return [element("h4", {}, "Slowest rank"), element("p", {class: "strong"}, text),
    phases.ranks > 1 ? element("table", {class: "rank-table"}, element("tbody", {}, ...rows)) : null,
    phases.ranks > phases.slowest.length ? element("p", {class: "note"}, `${phases.ranks - phases.slowest.length} more ranks were the slowest less often.`) : null];
}

function phasesSection() {
  const runs = data.runs.map((run, i) => i).filter((i) => data.runs[i].phases);
  if (runs.length === 0) return null;
  const cards = runs.map((run) => {
    const chart = new PhaseChart(run, 250);
    chart.node.classList.remove("card");
    return element("div", {class: "card", "data-run": run}, element("h3", {}, runCell(run)), chart.node, ...slowestRanks(data.runs[run].phases));
  });
  const grid = element("div", {class: "charts"}, ...cards);
  widenLast(grid);
  const without = data.runs.filter((run) => !run.phases && run.lines > 0).map((run) => run.name);
  return section("phases", "Phases", "What the slowest rank of each step did. A phase in which it waited for other ranks is reduce, gather or control." +
    (without.length ? " Without phases: " + without.join(", ") + "." : ""), phaseBars(runs), grid);
}
