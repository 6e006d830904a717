#!/usr/bin/env bash
# Opens a report in a headless Chromium, narrow and wide, light and dark: uses every control, and checks that there is no error,
# no text on top of another, nothing wider than the page, and no request. Needs chromium; takes a minute.
#   tests/e2e/report_in_browser.sh [PAGE.html [FOLDER FOR SCREENSHOTS]]     without PAGE: of two short runs, one with a hostile name
set -u
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "skipped: no chromium"; exit 77; }
DS_SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
page=${1:-} shots=${2:-}
if [ -z "$page" ]; then
  . "$DS_SOURCE/tests/support/train_ranks.sh"
  run_job 1 'a<img src=x onerror=alert(1)>' data.validation=0.05 train.validate_every=5 checkpoint.dir="$work/saves" checkpoint.every=5
  run_job 1 second optimizer.lr=1e-3 precision.dtype=fp16
  page=$work/report.html
  "$dsrunner" report "$work/a<img src=x onerror=alert(1)>" "$work/second" --out "$page" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
else
  work=$(mktemp -d)
  failures=0
  trap 'rm -rf "$work"' EXIT
fi
nonce=$(sed -n 's/.*script-src .nonce-\([0-9a-f]*\).*/\1/p' "$page")
cat >"$work/drive.js" <<'END'
// Uses the page as people do, and reports what is wrong with it to the page around it.
const problems = [];
addEventListener("error", (event) => problems.push("error: " + event.message));
addEventListener("securitypolicyviolation", (event) => problems.push("blocked: " + event.blockedURI + " " + event.violatedDirective));
const boxOf = (node) => node.getBoundingClientRect();
function lookAt(when) {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) problems.push(`${when}: the page is ${wide} px too wide`);
  for (const svg of document.querySelectorAll(".plot > svg")) {
    const title = svg.closest("figure").querySelector(".chart-title").textContent;
    const outer = boxOf(svg), texts = [...svg.querySelectorAll("text")].map((node) => [node.textContent, boxOf(node)]);
    if (texts.length < 3) problems.push(`${when}: ${title} has no ticks`);
    texts.forEach(([text, box], i) => {
      if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.bottom > outer.bottom + 1)
        problems.push(`${when}: '${text}' is cut in ${title}`);
      for (const [other, its] of texts.slice(i + 1))
        if (box.left < its.right && its.left < box.right && box.top + 2 < its.bottom && its.top + 2 < box.bottom)
          problems.push(`${when}: '${text}' is on '${other}' in ${title}`);
    });
    if (/NaN|Infinity|undefined/.test(svg.outerHTML)) problems.push(`${when}: ${title} has a place that is no number`);
  }
}
function hover(when) {
  for (const svg of document.querySelectorAll(".plot > svg")) {
    const box = boxOf(svg);
    for (const share of [0.02, 0.3, 0.6, 0.98]) {
      svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + share * box.width, clientY: box.top + 60}));
      const tip = svg.parentNode.querySelector(".tip"), its = boxOf(tip);
      if (share === 0.3 && tip.hidden) problems.push(`${when}: no values under the pointer`);
      if (!tip.hidden && (its.left < 0 || its.right > innerWidth)) problems.push(`${when}: the values leave the page`);
    }
    svg.dispatchEvent(new PointerEvent("pointerleave"));
  }
}
const frame = () => new Promise((done) => setTimeout(done, 60));
addEventListener("load", async () => {
  await frame();
  if (document.querySelector("img")) problems.push("a text became an element");
  lookAt("at first");
  hover("at first");
  for (const choice of document.querySelectorAll(".segments input")) {
    choice.click();
    lookAt(choice.value);
    hover(choice.value);
  }
  for (const button of document.querySelectorAll("figcaption button")) button.click();
  lookAt("logarithmic");
  for (const button of document.querySelectorAll("figcaption button")) button.click();
  const slider = document.querySelector(".smoothing input");
  for (const value of [0, 10, 1.5]) {
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
    lookAt("smoothing " + value);
  }
  for (const button of document.querySelectorAll(".legend-entry")) button.click();
  lookAt("without runs");
  for (const button of document.querySelectorAll(".legend-entry")) button.click();
  const svg = document.querySelector(".plot > svg");
  svg.focus();
  for (const key of ["ArrowRight", "ArrowLeft", "End", "Home", "ArrowRight", "+", "0", "Escape"]) {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key}));
    lookAt("key " + key);
  }
  document.querySelector(".segments input").click();
  hover("at last");
  if (location.hash) {  // a screenshot with the values at a place
    const first = document.querySelector(".plot > svg"), box = boxOf(first);
    first.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + 0.55 * box.width, clientY: box.top + 120}));
  }
  parent.postMessage({problems, charts: document.querySelectorAll(".plot > svg").length}, "*");
});
END
# The page with the script above, whose nonce it needs: a report runs no others.
sed "s/<\/title>/<\/title><script nonce=\"$nonce\">/;t put;b;:put;r $work/drive.js
a <\/script>" "$page" >"$work/driven.html"

# look NAME WIDTH HEIGHT LIGHT|DARK
look() {
  local scheme=1 width=$(($2 < 500 ? 500 : $2))
  [ "$4" = dark ] && scheme=0
  cat >"$work/frame.html" <<END
<!doctype html><meta name="color-scheme" content="light dark"><style>body{margin:0}iframe{border:0;display:block}</style>
<iframe src="driven.html#values" width="$2" height="$3"></iframe><pre id="seen">nothing</pre>
<script>addEventListener("message", (event) => { document.getElementById("seen").textContent = JSON.stringify(event.data); });</script>
END
  timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" --enable-logging=stderr \
    --blink-settings=preferredColorScheme=$scheme --window-size="$width,$3" --virtual-time-budget=20000 "${@:5}" "file://$work/frame.html" 2>"$work/log"
}
check() {
  look "$@" --dump-dom >"$work/dom"
  local seen
  seen=$(sed -n 's/.*<pre id="seen">\(.*\)<\/pre>.*/\1/p' "$work/dom")
  echo "$1: $seen"
  case $seen in '{"problems":[],"charts":'[1-9]*) ;; *) failures=$((failures + 1)); echo "FAILED: $1" ;; esac
  if grep -E 'CONSOLE.*(rror|efused)' "$work/log"; then failures=$((failures + 1)); fi
  [ -z "$shots" ] || look "$@" --screenshot="$shots/$1.png" >/dev/null
}
[ -z "$shots" ] || mkdir -p "$shots"
check narrow-light 390 1800 light
check narrow-dark 390 1800 dark
check middle 820 1800 light
check wide-light 1440 2600 light
check wide-dark 1440 2600 dark
[ $failures = 0 ] && echo "report in a browser: no error, no text on another, no request"
exit $((failures > 0))
