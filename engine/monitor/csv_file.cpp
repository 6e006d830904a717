// Lines of metrics.csv. No column needs quotes, because all are numbers.
#include "engine/monitor/csv_file.h"

#include <iterator>

namespace ds {
namespace {

constexpr std::string_view kHead =
    "step,loss,lr,grad_norm,loss_scale,skipped_steps,tokens,tokens_per_s,elapsed_s,validation_loss";
constexpr std::string_view kEnd = "\r\n";

}  // namespace

std::string csv_header(bool has_phases) {
  std::string text(kHead);
  if (has_phases) text += ",slowest_rank";
  for (const std::string_view name : kStepPhaseNames)
    if (has_phases) fmt::format_to(std::back_inserter(text), ",phase_{}", name);
  return text.append(kEnd);
}

Line csv_line(const StepMetrics& m) {
  Line line = Line::of("{},{},{},{},{},{},{},{},{},", m.step, m.loss, m.learning_rate, m.grad_norm,
                       m.loss_scale, m.skipped, m.tokens, m.tokens_per_s, m.elapsed_s);
  if (m.has_phases) line.add(",{}", m.slowest);
  for (const double seconds : m.phases)
    if (m.has_phases) line.add(",{}", rounded_seconds(seconds));
  line.append(kEnd);
  return line;
}

Line csv_validation_line(std::int64_t step, double loss, double elapsed_s, bool has_phases) {
  Line line = Line::of("{},,,,,,,,{},{}", step, elapsed_s, loss);
  for (std::size_t i = 0; has_phases && i <= kStepPhases; ++i) line.append(",");
  line.append(kEnd);
  return line;
}

CsvFile::CsvFile(const std::string& path, bool has_phases)
    : file_(RecordFile::create(path)), has_phases_(has_phases) {
  has_head_ = file_.append(csv_header(has_phases_));
}

bool CsvFile::append(std::string_view line) {
  has_head_ = has_head_ || file_.append(csv_header(has_phases_));
  return has_head_ && file_.append(line);
}

bool CsvFile::write(const StepMetrics& metrics) { return append(csv_line(metrics)); }

bool CsvFile::validation(std::int64_t step, double loss, double elapsed_s) {
  return append(csv_validation_line(step, loss, elapsed_s, has_phases_));
}

}  // namespace ds
