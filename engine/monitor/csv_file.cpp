// Lines of metrics.csv. No column needs quotes: all are numbers, or names of sets, which have no
// comma.
#include "engine/monitor/csv_file.h"

#include <iterator>

namespace ds {
namespace {

constexpr std::string_view kHead =
    "step,loss,lr,grad_norm,loss_scale,skipped_steps,tokens,tokens_per_s,elapsed_s,validation_loss";
constexpr std::string_view kEnd = "\r\n";

}  // namespace

std::string csv_header(const CsvColumns& columns) {
  std::string text(kHead);
  if (columns.sets) text += ",validation_set";
  if (columns.phases) text += ",slowest_rank";
  for (const std::string_view name : kStepPhaseNames)
    if (columns.phases) fmt::format_to(std::back_inserter(text), ",phase_{}", name);
  return text.append(kEnd);
}

Line csv_line(const StepMetrics& m, const CsvColumns& columns) {
  Line line = Line::of("{},{},{},{},{},{},{},{},{},", m.step, m.loss, m.learning_rate, m.grad_norm,
                       m.loss_scale, m.skipped, m.tokens, m.tokens_per_s, m.elapsed_s);
  if (columns.sets) line.append(",");
  if (m.has_phases) line.add(",{}", m.slowest);
  for (const double seconds : m.phases)
    if (m.has_phases) line.add(",{}", rounded_seconds(seconds));
  line.append(kEnd);
  return line;
}

Line csv_validation_line(std::int64_t step, std::string_view set, double loss, double elapsed_s,
                         const CsvColumns& columns) {
  Line line = Line::of("{},,,,,,,,{},{}", step, elapsed_s, loss);
  if (columns.sets) line.add(",{}", set);
  for (std::size_t i = 0; columns.phases && i <= kStepPhases; ++i) line.append(",");
  line.append(kEnd);
  return line;
}

CsvFile::CsvFile(const std::string& path, const CsvColumns& columns, bool continues)
    : file_(continues ? RecordFile::continued(path) : RecordFile::create(path)),
      columns_(columns) {
  has_head_ = !file_.is_empty() || file_.append(csv_header(columns_));
}

bool CsvFile::append(std::string_view line) {
  has_head_ = has_head_ || file_.append(csv_header(columns_));
  return has_head_ && file_.append(line);
}

bool CsvFile::write(const StepMetrics& metrics) { return append(csv_line(metrics, columns_)); }

bool CsvFile::validation(std::int64_t step, std::string_view set, double loss, double elapsed_s) {
  return append(csv_validation_line(step, set, loss, elapsed_s, columns_));
}

}  // namespace ds
