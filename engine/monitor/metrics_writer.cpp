// Lines of metrics.jsonl, formatted by fmt without allocation, and the writer.
#include "engine/monitor/metrics_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

MetricsWriter::MetricsWriter(const std::string& path)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)) {
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
