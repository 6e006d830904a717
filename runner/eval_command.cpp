// Evaluates each set with the program of a validation in training, and prints what came out.
#include "runner/eval_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "engine/base/error.h"
#include "engine/base/tool_options.h"
#include "engine/data/open_data.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/plugin/choose_backend.h"
#include "engine/train/evaluate.h"
#include "engine/train/programs.h"
#include "runner/eval_setup.h"
#include "runner/loaded_model.h"
#include "runner/target_bytes.h"

namespace ds {
namespace {

struct Evaluated {
  std::string name{};
  double loss = 0;  // nats per target
  std::int64_t targets = 0, rows = 0;
  std::optional<std::int64_t> bytes{};  // of text, where it is known
  [[nodiscard]] double perplexity() const { return std::exp(loss); }
  [[nodiscard]] std::optional<double> bits_per_byte() const {
    if (!bytes || *bytes == 0) return std::nullopt;
    return loss / std::numbers::ln2 * static_cast<double>(targets) / static_cast<double>(*bytes);
  }
};

/// Counts bytes of text where each target is a token of one that the model continues.
std::optional<TargetBytes> byte_counter(const DataConfig& config, const DataSet& data) {
  if (config.task == DataTask::masked || reads_two_texts(config.task)) return std::nullopt;
  if (!data.tokenizer && config.tokenizer != "bytes") return std::nullopt;
  return TargetBytes(data.tokenizer);
}

class Evaluation {
 public:
  Evaluation(const EvalSetup& setup, const DataSet& data)
      : setup_(setup),
        data_(data),
        backend_(make_backend(setup.config.device, 0)),
        model_(setup.model, programs(setup, data.fields), backend_),
        places_(static_cast<std::size_t>(setup.micro)) {}

  [[nodiscard]] std::string device() const { return backend_.device->description(); }

  Evaluated of(const HeldOut& set) {
    const SetRows rows = setup_.most ? rows_of_set(*set.part, *setup_.most)
                                     : validation_rows(*set.part, !set.name.empty(), setup_.config);
    std::optional<TargetBytes> bytes = byte_counter(setup_.config.data, data_);
    EvaluationRun run{.model = model_.program(0), .context = context_, .places = places_};
    if (bytes)
      run.seen = [&](std::span<const BatchInput> inputs) { bytes->add(inputs, setup_.micro); };
    const LossSum sum = sum_losses(*set.part, rows, run);
    if (sum.targets == 0)
      throw Error(
          ErrorKind::config,
          fmt::format("{}: none of its {} rows has a target that counts", key_of(set), rows.count),
          "dslaunch data show prints what a row has");
    Evaluated made{.name = std::string(set.name),
                   .loss = sum.loss.rounded() / static_cast<double>(sum.targets),
                   .targets = sum.targets,
                   .rows = rows.count};
    if (bytes) made.bytes = bytes->bytes();
    return made;
  }

 private:
  static std::string key_of(const HeldOut& set) {
    return set.name.empty() ? "the data" : fmt::format("set {}", set.name);
  }

  static std::vector<Program> programs(const EvalSetup& setup, const DataFields& fields) {
    ModelShape shape = forward_shape(setup.config);
    shape.micro = setup.micro;
    shape.valid_vocab = setup.model.tokens;
    shape.positions = setup.model.table_positions;
    shape.fields = fields;
    std::vector<Program> made;
    made.push_back(build_sampled(setup.model, shape));
    return made;
  }

  const EvalSetup& setup_;
  const DataSet& data_;
  Backend backend_;
  LoadedModel model_;
  StepContext context_;
  std::vector<SamplePlace> places_;
};

std::string line_of(const Evaluated& set, const EvalSetup& setup) {
  std::string line = set.name.empty() ? "" : set.name + ": ";
  line += fmt::format("loss {} nats per {}, perplexity {:.6g}", set.loss,
                      setup.config.data.tokenizer == "bytes" ? "byte" : "token", set.perplexity());
  if (const auto bits = set.bits_per_byte()) line += fmt::format(", {:.6g} bits per byte", *bits);
  return line + fmt::format(", {} target{} in {} row{}\n", set.targets, set.targets == 1 ? "" : "s",
                            set.rows, set.rows == 1 ? "" : "s");
}

/// A number that is not finite is null.
nlohmann::ordered_json number_or_null(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

std::string json_of(const std::vector<Evaluated>& sets, const EvalSetup& setup) {
  nlohmann::ordered_json json = {{"model", setup.model.path},
                                 {"step", nullptr},
                                 {"dtype", name_of(setup.config.precision.dtype)},
                                 {"seq_len", setup.config.data.seq_len},
                                 {"sets", nlohmann::ordered_json::array()}};
  if (setup.step) json["step"] = *setup.step;
  for (const Evaluated& set : sets) {
    nlohmann::ordered_json one = {{"validation_set", nullptr},
                                  {"validation_loss", number_or_null(set.loss)},
                                  {"perplexity", number_or_null(set.perplexity())},
                                  {"bits_per_byte", number_or_null(set.bits_per_byte())},
                                  {"targets", set.targets},
                                  {"rows", set.rows},
                                  {"bytes", nullptr}};
    if (!set.name.empty()) one["validation_set"] = set.name;
    if (set.bytes) one["bytes"] = *set.bytes;
    json["sets"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

}  // namespace

int run_eval(const std::vector<std::string>& words) {
  const ToolWords read("eval", words);
  const EvalSetup setup = eval_setup(read);
  const DataConfig& config = setup.config.data;
  const DataSet data = open_validation(config, static_cast<std::uint64_t>(setup.config.train.seed),
                                       {.threads = default_thread_count()});
  Evaluation evaluation(setup, data);
  fmt::print(stderr, "{}{}, {} tokens per row, {} on {}\n", setup.model.path,
             setup.step ? fmt::format(", step {}", *setup.step) : "", config.seq_len,
             name_of(setup.config.precision.dtype), evaluation.device());
  std::vector<Evaluated> sets;
  for (const HeldOut& set : data.held_out()) {
    sets.push_back(evaluation.of(set));
    if (read.has("--json")) continue;
    fmt::print("{}", line_of(sets.back(), setup));
    std::fflush(stdout);
  }
  if (read.has("--json")) fmt::print("{}", json_of(sets, setup));
  return 0;
}

}  // namespace ds
