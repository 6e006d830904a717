#include "engine/report/metrics_line.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ds::report {
namespace {

using PlainJson = nlohmann::json;

constexpr double kMostStep = 9007199254740992.0;  // 2^53: whole numbers above are not exact

constexpr std::array<std::string_view, 8> kOtherKeys{
    "step",    "tokens",    "elapsed_s",       "slowest_rank",
    "stall_s", "written_s", "validation_loss", "checkpoint_bytes"};
enum class Other : std::uint8_t {
  step,
  tokens,
  elapsed_s,
  slowest,
  stall_s,
  written_s,
  validation_loss,
  checkpoint_bytes
};

/// Collects the known keys of one line without building a tree: a log has up to millions of lines.
class LineHandler final : public nlohmann::json_sax<PlainJson> {
 public:
  LineHandler() {
    step_.figures.fill(kNoNumber);
    others_.fill(kNoNumber);
  }

  bool null() override { return number(kNoNumber); }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return number(value);
  }
  bool string(string_t& value) override {
    if (depth_ == 1 && key_ == "validation_set") set_ = value;
    if (depth_ == 1 && key_ == "event") is_epoch_ = value == "epoch";
    return true;
  }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override {
    if (depth_ == 1 && key_ == "phases") in_phases_ = has_phases_ = true;
    ++depth_;
    is_object_ = true;
    return true;
  }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) in_phases_ = false;
    key_.clear();
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    ++depth_;
    return is_object_;  // A line that is an array is broken.
  }
  bool end_array() override {
    --depth_;
    key_.clear();
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const PlainJson::exception& /*error*/) override {
    return false;
  }

  [[nodiscard]] MetricsLine line() {
    if (is_object_ && is_epoch_) return EpochLine{};
    const double step = of(Other::step);
    if (!is_object_ || !(step >= 1 && step <= kMostStep)) return BrokenLine{};
    const Position at{static_cast<std::int64_t>(step), of(Other::tokens), of(Other::elapsed_s)};
    if (has_validation_) return ValidationLine{at, of(Other::validation_loss), std::move(set_)};
    if (!std::isnan(of(Other::checkpoint_bytes)))
      return SaveLine{at, of(Other::checkpoint_bytes), or_zero(of(Other::stall_s)),
                      or_zero(of(Other::written_s))};
    if (!has_loss_) return OtherLine{};
    step_.at = at;
    const double slowest = of(Other::slowest);
    if (has_phases_ && slowest >= 0 && slowest < 1e9) step_.slowest = static_cast<int>(slowest);
    return step_;
  }

 private:
  [[nodiscard]] double of(Other key) const { return others_[static_cast<std::size_t>(key)]; }
  static double or_zero(double value) { return std::isfinite(value) ? value : 0; }

  bool number(double value) {
    if (in_phases_ && depth_ == 2) {
      add_phase(value);
      return true;
    }
    if (depth_ != 1) return true;
    if (const auto* key = std::ranges::find(kFigureKeys, key_); key != kFigureKeys.end()) {
      step_.figures[static_cast<std::size_t>(key - kFigureKeys.begin())] = value;
      has_loss_ = has_loss_ || key == kFigureKeys.begin();
    } else if (const auto* other = std::ranges::find(kOtherKeys, key_); other != kOtherKeys.end()) {
      others_[static_cast<std::size_t>(other - kOtherKeys.begin())] = value;
      has_validation_ = has_validation_ || key_ == "validation_loss";
    }
    return true;
  }

  void add_phase(double seconds) {
    if (!(seconds >= 0 && seconds < 1e9)) return;
    const auto* name = std::ranges::find(kStepPhaseNames, key_);
    if (name == kStepPhaseNames.end()) name = kStepPhaseNames.end() - 1;
    step_.phases[static_cast<std::size_t>(name - kStepPhaseNames.begin())] +=
        static_cast<float>(seconds);
  }

  StepLine step_;
  std::array<double, kOtherKeys.size()> others_{};
  std::string key_, set_;
  int depth_ = 0;
  bool is_object_ = false, in_phases_ = false, has_phases_ = false;
  bool has_loss_ = false, has_validation_ = false;
  bool is_epoch_ = false;
};

}  // namespace

MetricsLine parse_metrics_line(std::string_view line) {
  LineHandler handler;
  if (!PlainJson::sax_parse(line, &handler)) return BrokenLine{};
  return handler.line();
}

}  // namespace ds::report
