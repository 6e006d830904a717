// CsvFile: metrics.csv, the figures of logged steps and validations as one table (RFC 4180).
#pragma once

#include <cstdint>
#include <string>

#include "engine/monitor/metrics_writer.h"
#include "engine/monitor/record_file.h"

namespace ds {

/// The columns that not every table has.
struct CsvColumns {
  bool sets = false;    // validation_set
  bool phases = false;  // behind all others
};

/// The line of the names, with its end "\r\n".
std::string csv_header(const CsvColumns& columns);
/// Numbers have the fewest digits that read back exactly; those that are not finite are nan, inf
/// and -inf.
Line csv_line(const StepMetrics& metrics, const CsvColumns& columns);
/// Fills the columns step, elapsed_s, validation_loss and, where it exists, validation_set.
Line csv_validation_line(std::int64_t step, std::string_view set, double loss, double elapsed_s,
                         const CsvColumns& columns);

class CsvFile {
 public:
  CsvFile() = default;
  /// Creates the file, which must not exist yet, or continues one with the same columns.
  CsvFile(const std::string& path, const CsvColumns& columns, bool continues = false);
  /// Returns whether the line was written.
  bool write(const StepMetrics& metrics);
  bool validation(std::int64_t step, std::string_view set, double loss, double elapsed_s);
  [[nodiscard]] std::string problem() const { return file_.problem(); }

 private:
  bool append(std::string_view line);

  RecordFile file_;
  CsvColumns columns_;
  bool has_head_ = false;
};

}  // namespace ds
