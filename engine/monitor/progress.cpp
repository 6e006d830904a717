// Progress line: fields in order of importance, as many as fit.
#include "engine/monitor/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "engine/base/units.h"

namespace ds {
namespace {

constexpr int kDefaultWidth = 120;
constexpr int kLiveWidth = 79;   // of a terminal whose width is unknown
constexpr double kMemory = 0.9;  // weight of the running average: about 16 updates

Line loss_text(double loss) {
  if (!std::isfinite(loss)) return Line::of("loss {}", loss);
  return loss < 100 ? Line::of("loss {:.3f}", loss) : Line::of("loss {:.3g}", loss);
}

int digits(std::int64_t number) { return number < 10 ? 1 : 1 + digits(number / 10); }

}  // namespace

Line progress_line(const Progress& p, int width) {
  const std::array<Line, 7> fields{
      Line::of("step {:>{}}/{}", p.step, digits(p.total_steps), p.total_steps),
      loss_text(p.loss),
      Line::of("lr {:.1e}", p.learning_rate),
      p.skipped > 0 ? Line::of("{} skipped", p.skipped) : Line(),
      Line::of("{} tokens/s", format_count(p.tokens_per_s)),
      p.peak_fraction > 0 ? Line::of("{:.0f} % of peak", 100 * p.peak_fraction) : Line(),
      Line::of("{} left", format_duration(p.seconds_left))};
  Line line;
  for (const Line& field : fields) {
    if (field.empty()) continue;
    const std::string_view gap = line.empty() ? "" : "  ";
    if (!line.empty() &&
        line.size() + gap.size() + field.size() > static_cast<std::size_t>(width)) {
      break;
    }
    line.append(gap).append(field);
  }
  return line;
}

ProgressStyle progress_style(std::string_view live_variable, bool stdout_is_terminal, int columns) {
  bool live = stdout_is_terminal;
  if (!live_variable.empty()) {
    columns = 0;
    std::from_chars(live_variable.data(), live_variable.data() + live_variable.size(), columns);
    live = columns > 0;
  }
  if (!live) return {.live = false, .width = kDefaultWidth};
  return {.live = true, .width = columns > 1 ? columns - 1 : kLiveWidth};
}

ProgressStyle detect_progress_style() {
  const char* variable = std::getenv("DSLAUNCH_LIVE");
  winsize size{};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (terminal) (void)::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return progress_style(variable == nullptr ? "" : variable, terminal, size.ws_col);
}

void ProgressWriter::write_all(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t sent = ::write(fd_, text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // nobody reads; training goes on
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void ProgressWriter::show(const Progress& progress) {
  Line line = progress_line(progress, style_.width);
  if (!style_.live) {
    write_all(line.append("\n"));
    return;
  }
  const std::size_t columns = line.size();
  line.pad(shown_);
  shown_ = columns;
  write_all(line.append("\r"));
}

void ProgressWriter::note(std::string_view line) {
  finish();
  write_all(fmt::format("{}\n", line));
}

void ProgressWriter::finish() {
  if (shown_ > 0) write_all("\n");
  shown_ = 0;
}

void RateMeter::update(std::int64_t step, double seconds) {
  if (step_ >= 0 && seconds > seconds_ && step > step_) {
    const double now = static_cast<double>(step - step_) / (seconds - seconds_);
    rate_ = rate_ > 0 ? kMemory * rate_ + (1 - kMemory) * now : now;
  }
  step_ = step;
  seconds_ = seconds;
}

double RateMeter::seconds_left(std::int64_t total_steps) const {
  return rate_ > 0 ? static_cast<double>(total_steps - step_) / rate_
                   : std::numeric_limits<double>::infinity();
}

}  // namespace ds
