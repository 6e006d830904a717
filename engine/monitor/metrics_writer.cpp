// Lines of metrics.jsonl, formatted by fmt without allocation, and the writer.
#include "engine/monitor/metrics_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "engine/base/error.h"

namespace ds {
namespace {

void add_number(Line& line, std::string_view key, double number) {
  line.add(",\"{}\":", key);
  std::isfinite(number) ? line.add("{}", number) : line.append("null");
}

// {"forward":0.012,...}
void add_phases(Line& line, const PhaseSeconds& phases) {
  line.append(",\"phases\":{");
  for (std::size_t i = 0; i < kStepPhases; ++i)
    line.add("{}\"{}\":{}", i == 0 ? "" : ",", kStepPhaseNames[i], rounded_seconds(phases[i]));
  line.append("}");
}

}  // namespace

double rounded_seconds(double seconds) { return std::round(seconds * 1e6) / 1e6; }

Line metrics_line(const StepMetrics& m) {
  Line line = Line::of("{{\"step\":{}", m.step);
  add_number(line, "loss", m.loss);
  add_number(line, "lr", m.learning_rate);
  add_number(line, "grad_norm", m.grad_norm);
  add_number(line, "loss_scale", m.loss_scale);
  line.add(",\"skipped_steps\":{}", m.skipped);
  line.add(",\"tokens\":{}", m.tokens);
  add_number(line, "tokens_per_s", m.tokens_per_s);
  add_number(line, "elapsed_s", m.elapsed_s);
  if (m.has_phases) {
    line.add(",\"slowest_rank\":{}", m.slowest);
    add_phases(line, m.phases);
  }
  line.append("}\n");
  return line;
}

Line validation_line(std::int64_t step, std::string_view set, double loss, double elapsed_s) {
  Line line = Line::of("{{\"step\":{}", step);
  if (!set.empty()) line.add(",\"validation_set\":\"{}\"", set);
  add_number(line, "validation_loss", loss);
  add_number(line, "elapsed_s", elapsed_s);
  line.append("}\n");
  return line;
}

Line save_line(const SaveMetrics& m) {
  Line line = Line::of("{{\"step\":{},\"checkpoint_bytes\":{}", m.step, m.bytes);
  add_number(line, "stall_s", m.stall_s);
  add_number(line, "copied_s", m.copied_s);
  add_number(line, "flush_s", m.flush_s);
  add_number(line, "written_s", m.written_s);
  add_number(line, "elapsed_s", m.elapsed_s);
  line.append("}\n");
  return line;
}

Line epoch_line(const EpochMetrics& m) {
  Line line = Line::of("{{\"event\":\"epoch\",\"epoch\":{},\"step\":{},\"ranks\":{}", m.epoch, m.step,
                       m.ranks);
  if (m.ranks_before > 0) line.add(",\"ranks_before\":{}", m.ranks_before);
  line.add(",\"source\":\"{}\",\"moved_bytes\":{},\"read_bytes\":{}", m.source, m.moved_bytes,
           m.read_bytes);
  if (m.redone_steps >= 0) line.add(",\"redone_steps\":{}", m.redone_steps);
  line.add(",\"met_s\":{},\"built_s\":{},\"loaded_s\":{}}}\n", rounded_seconds(m.met_s),
           rounded_seconds(m.built_s), rounded_seconds(m.loaded_s));
  return line;
}

std::int64_t last_logged_step(const std::string& path) {
  constexpr std::string_view kStep = "{\"step\":";
  constexpr std::int64_t kEnd = 64 << 10;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return -1;
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(size, 0, kEnd)), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), size - std::ssize(text));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t at = text.rfind(kStep);
  if (at == std::string::npos) return -1;
  std::int64_t step = -1;
  std::from_chars(text.data() + at + kStep.size(), text.data() + text.size(), step);
  return step;
}

MetricsWriter::MetricsWriter(const std::string& path, bool continues)
    : path_(path),
      file_(::open(path.c_str(),
                   O_WRONLY | O_CREAT | (continues ? 0 : O_TRUNC) | O_APPEND | O_CLOEXEC, 0666)) {
  if (!file_) throw_errno(path_, errno, "check log.dir");
}

void MetricsWriter::write(std::string_view line) const {
  ssize_t sent = 0;
  do {
    sent = ::write(file_.get(), line.data(), line.size());
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) throw_errno(path_, errno, "check the free space on the disk");
  if (static_cast<std::size_t>(sent) < line.size())
    throw_errno(path_, ENOSPC, "check the free space on the disk");
}

}  // namespace ds
