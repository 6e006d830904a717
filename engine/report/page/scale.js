// Scales, ticks, numbers as text, and smoothing. A scale maps values to pixels.

const kPrefixes = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]];

function trimmed(text) {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}
/** 1234567 is "1.235 M", 0.00012 is "1.2e-4". */
function numberText(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  for (const [unit, letter] of kPrefixes)
    if (size >= unit * (unit === 1e3 ? 10 : 1)) return trimmed((value / unit).toPrecision(digits)) + letter;
  if (size < 1e-3) return value.toExponential(Math.min(digits - 1, 2)).replace(/\.?0*e/, "e");
  return trimmed(value.toPrecision(digits));
}
/** Seconds as "0.4 s", "12 s", "3:05 min", "2:07 h", "3 d 4 h". */
function timeText(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return "–";
  if (seconds < 60) return numberText(seconds, 3) + " s";
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  if (seconds < 3600) return Math.floor(seconds / 60) + ":" + two(seconds % 60) + " min";
  if (seconds < 48 * 3600) return Math.floor(seconds / 3600) + ":" + two((seconds % 3600) / 60) + " h";
  return Math.floor(seconds / 86400) + " d " + Math.floor((seconds % 86400) / 3600) + " h";
}
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  for (; bytes >= 1024 && at + 1 < units.length; ++at) bytes /= 1024;
  return trimmed(bytes.toPrecision(3)) + " " + units[at];
}

function niceStep(span, count, steps = [1, 2, 5, 10]) {
  const rough = span / Math.max(count, 1);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  return power * steps.find((step) => step * power >= rough * 0.999);
}
function linearTicks(from, to, count, whole = false) {
  if (!(to > from)) return [from];
  let step = niceStep(to - from, count);
  if (whole) step = Math.max(1, Math.round(step));
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; ++i)
    ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
const kTimeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
function timeTicks(from, to, count) {
  const rough = (to - from) / Math.max(count, 1);
  if (rough < 1) return linearTicks(from, to, count);
  const step = kTimeSteps.find((each) => each >= rough) || 86400 * niceStep((to - from) / 86400, count);
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) ticks.push(i * step);
  return ticks;
}
/** As dense as fits with 24 pixels between two, of 1 a decade, 1 3, 1 2 5, 1 to 9. */
function logTicks(from, to, pixels) {
  const perDecade = pixels / Math.max(Math.log10(to / from), 1e-9);
  const choices = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]];
  const gaps = choices.map((digits) =>
    Math.min(...digits.map((digit, i) => Math.log10((digits[i + 1] || 10) / digit))));
  const digits = choices[Math.max(gaps.findIndex((gap) => gap * perDecade >= 24), 0)];
  const fits = gaps.some((gap) => gap * perDecade >= 24);
  const every = fits ? 1 : Math.ceil(24 / perDecade);
  const ticks = [];
  for (let decade = Math.floor(Math.log10(from)); decade <= Math.ceil(Math.log10(to)); ++decade) {
    if (decade % every !== 0) continue;
    for (const digit of fits ? digits : [1]) {
      const tick = Number((digit * Math.pow(10, decade)).toPrecision(12));
      if (tick >= from * 0.9999 && tick <= to * 1.0001) ticks.push(tick);
    }
  }
  return ticks.length >= 3 ? ticks : linearTicks(from, to, Math.floor(pixels / 32)).filter((tick) => tick > 0);
}

function linearScale(from, to, start, end) {
  const scale = (value) => start + ((value - from) / (to - from)) * (end - start);
  scale.inverse = (pixel) => from + ((pixel - start) / (end - start)) * (to - from);
  return scale;
}
function logScale(from, to, start, end) {
  const inner = linearScale(Math.log(from), Math.log(to), start, end);
  return (value) => inner(Math.log(value));
}

/** The index of the number nearest to `x` in a sorted list; -1 in an empty one. */
function nearest(sorted, x) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < x) low = middle + 1; else high = middle;
  }
  if (low === sorted.length) return sorted.length - 1;
  return low > 0 && x - sorted[low - 1] < sorted[low] - x ? low - 1 : low;
}

/** A Gaussian whose width is a percentage of the curve; unlike a running mean it does not lag. */
function smoothed(values, percent) {
  const sigma = (percent / 100) * values.length;
  if (sigma < 0.3) return values;
  const radius = Math.ceil(3 * sigma);
  const weights = Array.from({length: radius + 1}, (_, i) => Math.exp(-0.5 * (i / sigma) ** 2));
  return values.map((value, i) => {
    if (value === null) return null;
    let sum = 0, total = 0;
    // Near an end about as far to the other side, so that the ends of a falling curve do not bend.
    const before = Math.min(radius, i), after = Math.min(radius, values.length - 1 - i);
    const limit = Math.max(Math.min(before, after), Math.ceil(sigma));
    for (let j = i - Math.min(before, limit); j <= i + Math.min(after, limit); ++j) {
      if (values[j] === null) continue;
      const weight = weights[Math.abs(j - i)];
      sum += weight * values[j];
      total += weight;
    }
    return sum / total;
  });
}

// The three horizontal axes, by the key of the data.
const kAxes = {
  step: {label: "Steps", title: "step", text: (x) => numberText(x, 5), exact: (x) => "step " + Math.round(x),
    ticks: (from, to, count) => linearTicks(from, to, count, true)},
  tokens: {label: "Tokens", title: "tokens", text: (x) => numberText(x, 3), exact: (x) => numberText(x) + " tokens",
    ticks: linearTicks},
  elapsed: {label: "Time", title: "training time", text: timeText, exact: timeText, ticks: timeTicks},
};
