// EventFile: an event file of TensorBoard. It contains TFRecord frames around `Event` messages of
// protocol buffers (tensorflow/core/util/event.proto, framework/summary.proto).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/monitor/record_file.h"

namespace ds {

/// One point of the curve named `tag`.
struct Scalar {
  std::string_view tag;
  double value = 0;
};

/// Appends a frame: the length of `data` as 8 bytes, its masked CRC-32C, `data`, its masked
/// CRC-32C. Numbers are little-endian.
void add_frame(std::string& out, std::string_view data);

/// The following append one framed `Event`. `wall_time`: seconds since 1970.
void add_version(std::string& out, double wall_time);
/// The event tells readers to drop the points at `step` and later that earlier files of the folder
/// contain.
void add_start(std::string& out, double wall_time, std::int64_t step);
void add_scalars(std::string& out, double wall_time, std::int64_t step,
                 std::span<const Scalar> scalars);

/// Returns "events.out.tfevents.SECONDS.HOST.PID.ds" such that it sorts behind the event files that
/// `folder` contains, because readers go through them in the order of their names. `now`: seconds
/// since 1970.
std::string event_file_name(const std::string& folder, std::int64_t now);

class EventFile {
 public:
  EventFile() = default;
  /// Creates a file in `folder`, which must exist. `first`: the first step that it may contain.
  EventFile(const std::string& folder, std::int64_t first);

  /// Writes all scalars of a step as one record. Returns whether that succeeded. Allocates nothing
  /// once its buffer has grown.
  bool write(std::int64_t step, std::span<const Scalar> scalars);
  [[nodiscard]] std::string problem() const { return file_.problem(); }

 private:
  RecordFile file_;
  std::string text_;
  std::int64_t first_ = 0;
  bool has_head_ = false;  // version and start are written
};

}  // namespace ds
