// The stage that drops what is not to be shown: ranks that nobody asked for, and lines that nobody
// reads fast enough.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/logs/output_stage.h"

namespace ds::launcher {

class ShowFilter final : public OutputStage {
 public:
  struct Setup {
    std::vector<std::uint8_t> shown;  // by rank: 1 stdout, 2 stderr, added up
    std::function<bool()> drops;      // whether lines are to be dropped now
    std::string elsewhere{};          // appended to the count of dropped lines: where to find them
  };
  ShowFilter(Setup setup, OutputStage& next)
      : setup_(std::move(setup)), next_(next), passed_at_(setup_.shown.size()) {}

  [[nodiscard]] bool shows(int rank, int stream) const {
    return (setup_.shown[static_cast<std::size_t>(rank)] & stream) != 0;
  }

  void take(const Output& output) override {
    if (output.rank == -1) return next_.take(output);
    if (!shows(output.rank, output.stream)) return;
    passed_ += output.bytes.size();
    if (!output.bytes.empty()) passed_at_[static_cast<std::size_t>(output.rank)] = passed_;
    if (!setup_.drops()) return next_.take(output);
    dropped_lines_ += static_cast<std::uint64_t>(
        std::count(output.bytes.begin(), output.bytes.end(), std::byte{'\n'}));
  }
  void finish() override {
    next_.finish();
    say_dropped();
  }
  /// The reader keeps up again: says how many lines it missed, if it did.
  void say_dropped() {
    if (dropped_lines_ == 0) return;
    next_.take(own_line(fmt::format("dslaunch: {} lines were not shown: the reader was too slow{}",
                                    std::exchange(dropped_lines_, 0), setup_.elsewhere)));
  }

  /// Returns how many bytes of other ranks were shown after this rank's last ones; UINT64_MAX for
  /// a rank that is not shown whole.
  [[nodiscard]] std::uint64_t bytes_since(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return setup_.shown[index] == 3 ? passed_ - passed_at_[index] : UINT64_MAX;
  }

 private:
  Setup setup_;
  OutputStage& next_;
  std::uint64_t passed_ = 0;              // bytes, of all ranks
  std::vector<std::uint64_t> passed_at_;  // by rank: `passed_` with its last byte
  std::uint64_t dropped_lines_ = 0;
};

}  // namespace ds::launcher
