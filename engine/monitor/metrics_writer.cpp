// Lines by fmt: no JSON tree for eight numbers, and less than 1 KiB allocated a line.
#include "engine/monitor/metrics_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "engine/base/error.h"

namespace ds {
namespace {

std::string json_number(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "null";
}

}  // namespace

std::string metrics_line(const StepMetrics& m) {
  return fmt::format(
      "{{\"step\":{},\"loss\":{},\"lr\":{},\"grad_norm\":{},\"tokens\":{},\"tokens_per_s\":{},"
      "\"elapsed_s\":{}}}\n",
      m.step, json_number(m.loss), json_number(m.learning_rate), json_number(m.grad_norm), m.tokens,
      json_number(m.tokens_per_s), json_number(m.elapsed_s));
}

std::string validation_line(std::int64_t step, double loss, double elapsed_s) {
  return fmt::format("{{\"step\":{},\"validation_loss\":{},\"elapsed_s\":{}}}\n", step,
                     json_number(loss), json_number(elapsed_s));
}

MetricsWriter::MetricsWriter(const std::string& path)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)) {
  if (!file_) throw_errno(path_, errno, "check log.dir");
}

void MetricsWriter::write(const std::string& line) const {
  ssize_t sent = 0;
  do {
    sent = ::write(file_.get(), line.data(), line.size());
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) throw_errno(path_, errno, "is the disk full?");
  if (static_cast<std::size_t>(sent) < line.size()) throw_errno(path_, ENOSPC, "is the disk full?");
}

}  // namespace ds
