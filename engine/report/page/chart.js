// Chart: axes, lines of runs, crosshair, and the values under it. Drawn again whenever the state
// of the page or its width changes.
const state = {axis: "step", smoothing: 1.5, hidden: new Set(), zoom: null, cursor: null};
const charts = [];
let nextClip = 0;

const kCharacter = 6.7;  // pixels of a digit in the labels, at most
const kMargin = {top: 12, right: 16, bottom: 42};

class Chart {
  /** series: [{run, x: {step, tokens, elapsed}, mean, least, most, style}] */
  constructor({title, unit = "", note = "", series, canLog = false, fromZero = false, valueText = numberText, height = 230}) {
    Object.assign(this, {title, unit, note, series, fromZero, valueText, height, isLog: false, width: 0});
    this.plot = element("div", {class: "plot"});
    this.tip = element("div", {class: "tip", hidden: true});
    const log = canLog
      ? element("button", {type: "button", class: "small", "aria-pressed": "false",
          "aria-label": title + ": logarithmic axis", onclick: () => this.toggleLog(log)}, "log")
      : null;
    this.node = element("figure", {class: "card chart"},
      element("figcaption", {}, element("span", {class: "chart-title"}, title),
        element("span", {class: "unit"}, unit), log),
      this.plot, note ? element("p", {class: "note"}, note) : null);
    this.plot.append(this.tip);
    charts.push(this);
    new ResizeObserver(() => {
      if (this.plot.clientWidth !== this.width) this.draw();
    }).observe(this.plot);
  }

  toggleLog(button) {
    this.isLog = !this.isLog;
    button.setAttribute("aria-pressed", String(this.isLog));
    this.draw();
  }

  shown() { return this.series.filter((series) => !state.hidden.has(series.run)); }

  /** The points of a series on the current axis that have a place there. */
  points(series) {
    const key = state.axis + (series.style === "noisy" ? state.smoothing : "");
    if (series.cacheKey === key) return series.cache;
    const kept = [];
    const xs = series.x[state.axis];
    xs.forEach((x, i) => { if (x !== null) kept.push(i); });
    const take = (values) => (values ? kept.map((i) => values[i]) : null);
    const mean = take(series.mean);
    series.cache = {x: kept.map((i) => xs[i]), mean, least: take(series.least) || mean, most: take(series.most) || mean,
      line: series.style === "noisy" ? smoothed(mean, state.smoothing) : mean};
    series.cacheKey = key;
    return series.cache;
  }

  xRange() { return state.zoom || sharedRange(); }

  yRange([from, to]) {
    let low = Infinity, high = -Infinity;
    for (const series of this.shown()) {
      const {x, least, most} = this.points(series);
      x.forEach((at, i) => {
        if (at < from || at > to || least[i] === null || (this.isLog && least[i] <= 0)) return;
        low = Math.min(low, least[i]);
        high = Math.max(high, most[i]);
      });
    }
    if (!(high >= low)) return this.isLog ? [1, 10] : [0, 1];
    if (this.isLog) return [low / 1.05, high * 1.05];
    const room = high > low ? (high - low) * 0.06 : Math.abs(high) * 0.5 || 1;
    const isNearZero = low >= 0 && (this.fromZero || low < (high - low) * 0.1);
    return [isNearZero ? 0 : low - room, high + room];
  }

  draw() {
    this.width = this.plot.clientWidth;
    if (this.width < 60) return;
    const xRange = this.xRange(), yRange = this.yRange(xRange);
    const bottom = this.height - kMargin.bottom;
    const ticks = this.isLog ? logTicks(...yRange, bottom - kMargin.top)
      : linearTicks(...yRange, Math.floor((bottom - kMargin.top) / 34));
    const labels = ticks.map((tick) => this.valueText(tick));
    const left = 12 + kCharacter * Math.max(2, ...labels.map((label) => label.length));
    this.left = left;
    this.right = this.width - kMargin.right;
    this.x = linearScale(...xRange, left, this.right);
    this.y = (this.isLog ? logScale : linearScale)(...yRange, bottom, kMargin.top);
    this.clip = "clip" + nextClip++;
    const svg = shape("svg", {width: this.width, height: this.height, tabindex: 0, role: "img",
      "aria-label": this.title + ", a chart over " + kAxes[state.axis].title + ". Arrow keys read values."},
      shape("clipPath", {id: this.clip}, shape("rect", {x: left, y: kMargin.top - 2,
        width: Math.max(this.right - left, 1), height: bottom - kMargin.top + 4})));
    ticks.forEach((tick, i) => svg.append(
      shape("line", {class: "grid", x1: left, x2: this.right, y1: this.y(tick), y2: this.y(tick)}),
      shape("text", {class: "tick", x: left - 7, y: this.y(tick) + 4, "text-anchor": "end"}, labels[i])));
    this.drawXAxis(svg, xRange, bottom);
    const inside = shape("g", {"clip-path": `url(#${this.clip})`});
    this.paint(inside, bottom);
    this.cursor = shape("g", {class: "cursor"});
    this.selection = shape("rect", {class: "selection", y: kMargin.top, height: bottom - kMargin.top, visibility: "hidden"});
    svg.append(inside, this.selection, this.cursor);
    this.listen(svg);
    const focused = this.svg && document.activeElement === this.svg;
    if (this.svg) this.svg.remove();
    this.plot.prepend(svg);
    this.svg = svg;
    if (focused) svg.focus();
    this.showCursor(false);
  }

  drawXAxis(svg, [from, to], bottom) {
    const axis = kAxes[state.axis];
    svg.append(shape("line", {class: "axis", x1: this.left, x2: this.right, y1: bottom, y2: bottom}));
    let free = -Infinity;
    for (const tick of axis.ticks(from, to, Math.max(2, Math.floor((this.right - this.left) / 90)))) {
      const at = this.x(tick), label = axis.text(tick), half = (label.length * kCharacter) / 2;
      const middle = Math.min(Math.max(at, half + 2), this.width - half - 2);
      if (middle - half < free) continue;  // Two labels never touch.
      free = middle + half + 8;
      svg.append(shape("line", {class: "axis", x1: at, x2: at, y1: bottom, y2: bottom + 4}),
        shape("text", {class: "tick", x: middle, y: bottom + 17, "text-anchor": "middle"}, label));
    }
    svg.append(shape("text", {class: "axis-title", x: (this.left + this.right) / 2, y: bottom + 35,
      "text-anchor": "middle"}, axis.title));
  }

  paint(group, bottom) {
    const shown = this.shown();
    for (const series of shown) {
      const points = this.points(series);
      if (series.style === "noisy")
        group.append(shape("path", {class: "raw " + colorOf(series.run), d: this.rawPath(points)}));
    }
    for (const series of shown) this.paintLine(group, series, bottom);
  }

  paintLine(group, series, bottom) {
    const points = this.points(series);
    group.append(shape("path", {class: "line " + colorOf(series.run), d: this.linePath(points.x, points.line, series.style === "steps"),
      "stroke-dasharray": dashOf(series.run)}));
    if (series.style === "dots" && points.x.length <= 150)
      points.x.forEach((x, i) => {
        if (this.canShow(points.line[i]))
          group.append(shape("circle", {class: "dot " + colorOf(series.run), cx: this.x(x), cy: this.y(points.line[i]), r: 3}));
      });
    for (const x of (series.resumes && series.resumes[state.axis]) || [])
      if (x !== null) group.append(shape("line", {class: "resume " + colorOf(series.run), x1: this.x(x), x2: this.x(x), y1: kMargin.top, y2: bottom}));
  }

  canShow(value) { return value !== null && value !== undefined && (!this.isLog || value > 0); }

  linePath(xs, ys, isStepped) {
    let path = "", isOpen = false;
    xs.forEach((x, i) => {
      if (!this.canShow(ys[i])) { isOpen = false; return; }
      const at = this.x(x).toFixed(1), height = this.y(ys[i]).toFixed(1);
      path += isOpen && isStepped ? `H${at}V${height}` : (isOpen ? "L" : "M") + at + " " + height;
      isOpen = true;
    });
    // A single point has no line: make it as long as its round ends.
    return xs.length === 1 && path ? path + "h0.01" : path;
  }

  /** Through the least and the most of every column, so that no spike is lost. */
  rawPath({x, least, most}) {
    const xs = [], ys = [];
    x.forEach((at, i) => {
      const pair = i % 2 ? [least[i], most[i]] : [most[i], least[i]];
      xs.push(at);
      ys.push(pair[0]);
      if (pair[1] !== pair[0]) { xs.push(at); ys.push(pair[1]); }
    });
    return this.linePath(xs, ys, false);
  }

  listen(svg) {
    let from = null;
    const valueAt = (event) => {
      const pixel = event.clientX - svg.getBoundingClientRect().left;
      return this.x.inverse(Math.min(Math.max(pixel, this.left), this.right));
    };
    svg.addEventListener("pointermove", (event) => {
      moveCursor(this, valueAt(event), event.clientY - svg.getBoundingClientRect().top);
      if (from !== null) this.select(from, valueAt(event));
    });
    svg.addEventListener("pointerleave", () => { if (from === null) moveCursor(null, null); });
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      from = valueAt(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const to = valueAt(event), start = from;
      from = null;
      this.selection.setAttribute("visibility", "hidden");
      if (Math.abs(this.x(to) - this.x(start)) > 8) setZoom([Math.min(start, to), Math.max(start, to)]);
    });
    svg.addEventListener("dblclick", () => setZoom(null));
    svg.addEventListener("keydown", (event) => this.onKey(event));
    svg.addEventListener("blur", () => moveCursor(null, null));
  }

  select(from, to) {
    this.selection.setAttribute("visibility", "visible");
    this.selection.setAttribute("x", Math.min(this.x(from), this.x(to)));
    this.selection.setAttribute("width", Math.abs(this.x(to) - this.x(from)));
  }

  onKey(event) {
    const [from, to] = this.xRange();
    const now = state.cursor === null ? (from + to) / 2 : state.cursor;
    const jump = ((to - from) / 100) * (event.shiftKey ? 10 : 1);
    const places = {ArrowLeft: now - jump, ArrowRight: now + jump, Home: from, End: to};
    if (event.key in places) moveCursor(this, Math.min(Math.max(places[event.key], from), to), 40, true);
    else if (event.key === "+" || event.key === "=") setZoom([now - (to - from) / 4, now + (to - from) / 4]);
    else if (event.key === "-" || event.key === "0") setZoom(null);
    else if (event.key === "Escape") moveCursor(null, null);
    else return;
    event.preventDefault();
  }

  /** Rows of the tip: [{run or color, name, value, more, at: pixel of y or null}] */
  rows(x) {
    return this.shown().map((series) => {
      const points = this.points(series), i = nearest(points.x, x);
      const gap = points.x.length > 1 ? (points.x[points.x.length - 1] - points.x[0]) / (points.x.length - 1) : Infinity;
      if (i < 0 || Math.abs(points.x[i] - x) > Math.max(2 * gap, Math.abs(this.x.inverse(8) - this.x.inverse(0)) ))
        return {run: series.run, name: runName(series.run), value: "–", at: null};
      const value = points.line[i], least = points.least[i], most = points.most[i];
      const raw = least === most ? (series.style === "noisy" ? this.valueText(least) : "")
        : this.valueText(least) + " to " + this.valueText(most);
      return {run: series.run, name: runName(series.run), value: this.valueText(value), more: raw,
        at: this.canShow(value) ? this.y(value) : null, x: this.x(points.x[i])};
    });
  }

  showCursor(isHere, height = 40) {
    if (!this.cursor) return;
    this.cursor.replaceChildren();
    this.tip.hidden = true;
    if (state.cursor === null || this.x(state.cursor) < this.left - 1 || this.x(state.cursor) > this.right + 1) return;
    const at = this.x(state.cursor);
    this.cursor.append(shape("line", {x1: at, x2: at, y1: kMargin.top, y2: this.height - kMargin.bottom}));
    const rows = this.rows(state.cursor);
    for (const row of rows)
      if (row.at !== null && row.x !== undefined && row.at !== undefined)
        this.cursor.append(shape("circle", {class: "dot " + colorOf(row.run), cx: row.x, cy: row.at, r: 3.5}));
    if (!isHere) return;
    const known = rows.filter((row) => row.value !== "–");
    this.tip.replaceChildren(element("p", {}, kAxes[state.axis].exact(state.cursor)),
      known.length ? tipTable(known) : element("p", {}, "no run has a value here"));
    this.tip.hidden = false;
    this.tip.style.left = "0";
    const room = this.width - this.tip.offsetWidth;
    const left = at > this.width / 2 ? at - 14 - this.tip.offsetWidth : at + 14;
    this.tip.style.left = Math.max(0, Math.min(left, room)) + "px";
    this.tip.style.top = Math.max(0, height - this.tip.offsetHeight / 2) + "px";
  }
}

/** From the first to the last place of the runs shown: the same for all charts. */
function sharedRange() {
  let from = Infinity, to = -Infinity;
  data.runs.forEach((run, i) => {
    const places = run.curves[state.axis];
    if (state.hidden.has(i) || places.length === 0) return;
    from = Math.min(from, places[0] ?? Infinity);
    to = Math.max(to, places[places.length - 1] ?? -Infinity);
  });
  if (!(to >= from)) return [0, 1];
  if (from < to / 8) from = 0;
  return to > from ? [from, to] : [from - 0.5, to + 0.5];
}

function tipTable(rows) {
  return element("table", {}, element("tbody", {}, ...rows.map((row) => element("tr", {},
    element("td", {}, row.mark || swatch(row.run)), element("td", {class: "tip-name"}, row.name),
    element("td", {class: "tip-value"}, row.value),
    rows.some((each) => each.more) ? element("td", {class: "tip-more"}, row.more || "") : null))));
}

function moveCursor(chart, x, height, isSpoken = false) {
  state.cursor = x;
  for (const each of charts) each.showCursor(each === chart && x !== null, height);
  if (isSpoken && chart)
    document.getElementById("spoken").textContent = kAxes[state.axis].exact(x) + ": " +
      chart.rows(x).map((row) => row.name + " " + row.value).join(", ");
}
function drawAll() { for (const chart of charts) chart.draw(); }
