// CsvFile: metrics.csv, the figures of logged steps and validations as one table (RFC 4180).
#pragma once

#include <cstdint>
#include <string>

#include "engine/monitor/metrics_writer.h"
#include "engine/monitor/record_file.h"

namespace ds {

/// The line of the names, with its end "\r\n". The columns of the phases stand behind the others.
std::string csv_header(bool has_phases);
/// Numbers have the fewest digits that read back exactly; those that are not finite are nan, inf
/// and -inf.
Line csv_line(const StepMetrics& metrics);
/// Fills the columns step, elapsed_s and validation_loss.
Line csv_validation_line(std::int64_t step, double loss, double elapsed_s, bool has_phases);

class CsvFile {
 public:
  CsvFile() = default;
  /// Creates the file, which must not exist yet.
  CsvFile(const std::string& path, bool has_phases);
  /// Returns whether the line was written.
  bool write(const StepMetrics& metrics);
  bool validation(std::int64_t step, double loss, double elapsed_s);
  [[nodiscard]] std::string problem() const { return file_.problem(); }

 private:
  bool append(std::string_view line);

  RecordFile file_;
  bool has_phases_ = false, has_head_ = false;
};

}  // namespace ds
