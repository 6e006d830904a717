// The charts of figures over steps: which there are, and their data.
const kFigureCharts = [
  {key: "loss", title: "Training loss", unit: "nats per token", style: "noisy", canLog: true, isWide: true},
  {key: "validation"},
  {key: "grad_norm", title: "Gradient norm", unit: "before clipping", style: "noisy", canLog: true},
  {key: "lr", title: "Learning rate", style: "plain"},
  {key: "tokens_per_s", title: "Speed", unit: "tokens/s, all ranks", style: "noisy", fromZero: true},
  {key: "loss_scale", title: "Loss scale", unit: "fp16", style: "steps", canLog: true},
  {key: "skipped_steps", title: "Skipped steps", unit: "since the start", style: "steps"},
];

function figureSeries(key, style) {
  return data.runs.flatMap((run, i) => {
    const figure = run.curves.figures && run.curves.figures[key];
    if (!figure || !isWorthwhile(key, figure, i)) return [];
    return [{run: i, x: run.curves, ...figure, style, resumes: key === "loss" ? run.resumes : null}];
  });
}
/** A loss scale that never is anything but 1 belongs to a run without fp16. */
function isWorthwhile(key, figure) {
  if (key === "loss_scale") return figure.mean.some((value) => value !== null && value !== 1);
  if (key === "skipped_steps") return figure.mean.some((value) => value > 0);
  return true;
}

/** One chart for each named set of validation data, in the order of their names. */
function validationCharts() {
  const names = [...new Set(data.runs.flatMap((run) => run.validations.map((set) => set.name)))].sort();
  return names.map((name) => new Chart({
    title: name ? "Validation loss: " + name : "Validation loss", unit: "nats per token", canLog: true,
    series: data.runs.flatMap((run, i) => run.validations.filter((set) => set.name === name)
      .map((set) => ({run: i, x: set, mean: set.loss, style: "dots"}))),
  }));
}

/** Leaves no hole beside the last chart of an odd number. */
function widenLast(grid) {
  const narrow = [...grid.children].filter((node) => !node.classList.contains("wide"));
  if (narrow.length % 2 === 1) narrow[narrow.length - 1].classList.add("wide");
}

function curvesSection() {
  const grid = element("div", {class: "charts"});
  for (const {key, title, unit, style, canLog, fromZero, isWide} of kFigureCharts) {
    if (key === "validation") {
      for (const chart of validationCharts()) grid.append(chart.node);
      continue;
    }
    const series = figureSeries(key, style);
    if (series.length === 0) continue;
    const hasResumes = series.some((each) => each.resumes && each.resumes.step.length > 0);
    const chart = new Chart({title, unit, series, canLog, fromZero, height: isWide ? 340 : 230,
      note: hasResumes ? "Dotted vertical lines: the run was resumed from a checkpoint." : ""});
    if (isWide) chart.node.classList.add("wide");
    if (key === "loss_scale") chart.isLog = true;
    grid.append(chart.node);
    if (chart.isLog) chart.node.querySelector("button").setAttribute("aria-pressed", "true");
  }
  widenLast(grid);
  return section("curves", "Curves", "Drag over a chart to zoom in, double-click to zoom out. With the keyboard: " +
    "arrow keys read values, + zooms in, 0 zooms out.", grid);
}

function savesSection() {
  const shown = data.runs.map((run, i) => [run, i]).filter(([run]) => run.saves);
  if (shown.length === 0) return null;
  const charts = [["stall", "Pause of training for a checkpoint"], ["written", "Time until a checkpoint was complete"]]
    .map(([key, title]) => new Chart({title, unit: "s", series: shown.map(([run, i]) =>
      ({run: i, x: run.saves, mean: run.saves[key], style: "dots"}))}).node);
  const rows = shown.map(([run, i]) => [runCell(i), String(run.saves.count), bytesText(run.saves.bytes),
    "step " + run.saves.last_step, numberText(run.saves.stall_sum, 3) + " s", numberText(run.saves.stall_longest, 3) + " s",
    numberText(run.saves.written_mean, 3) + " s"]);
  return section("checkpoints", "Checkpoints", null,
    cardTable(["Run", "Checkpoints", "Size", "Newest", "All pauses", "Longest pause", "Mean time to complete"], rows),
    element("div", {class: "charts"}, ...charts));
}
