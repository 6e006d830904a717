// Formats the text report of a checkpoint: facts, the tree of tensors, broken ranges.
#include "engine/checkpoint/tools/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/units.h"
#include "engine/checkpoint/tools/flat_lines.h"
#include "engine/checkpoint/tools/tree.h"

namespace ds {
namespace {

constexpr std::size_t kShownRanges = 20;

std::string state_facts(const TrainingState& state) {
  std::string text =
      fmt::format("{}, {} updates, {} skipped, next sample {}, seed {}, lr {:.4g}", state.step,
                  state.updates, state.skipped, state.next_sample, state.seed, state.lr);
  if (state.loss_scale.scale != 1.0)
    text += fmt::format(", loss scale {:g}", state.loss_scale.scale);
  return text;
}

/// Returns the model's keys in one line: "gpt2, layers 2, hidden 64, ...".
std::string model_facts(const Manifest& manifest) {
  const auto config = flat_lines(manifest.config);
  std::string text = value_of(config, "model.arch");
  if (text.empty()) return "unknown";
  std::erase(text, '"');
  for (const char* name : {"layers", "hidden", "heads", "kv_heads", "ffn", "vocab"}) {
    const std::string value = value_of(config, fmt::format("model.{}", name));
    if (!value.empty()) text += fmt::format(", {} {}", name, value);
  }
  return text;
}

std::string training_facts(const Manifest& manifest) {
  const auto config = flat_lines(manifest.config);
  std::string text;
  for (const char* name :
       {"data.seq_len", "batch.global", "determinism.virtual_ranks", "determinism.order",
        "precision.dtype", "optimizer.type", "zero.stage"}) {
    const std::string value = value_of(config, name);
    if (!value.empty()) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? "unknown" : text;
}

std::string size_facts(const Manifest& manifest) {
  std::map<std::string, std::int64_t> states;
  std::int64_t bytes = 0, pieces = 0;
  for (const TensorEntry& tensor : manifest.tensors) {
    pieces += pieces_of(tensor);
    for (const StateEntry& state : tensor.states) {
      states[state.name] += bytes_of(state);
      bytes += bytes_of(state);
    }
  }
  std::string text = format_bytes(bytes);
  const char* between = ": ";
  for (const auto& [name, own] : states) {
    text += fmt::format("{}{} {}", between, name, format_bytes(own));
    between = ", ";
  }
  return text + fmt::format("; {} in {}", counted(pieces, "piece"),
                            counted(std::ssize(manifest.chunks), "chunk"));
}

std::string parameter_facts(const Manifest& manifest) {
  std::int64_t elements = 0;
  for (const TensorEntry& tensor : manifest.tensors) elements += elements_of(tensor);
  return fmt::format("{} ({}) in {} tensors", format_count(static_cast<double>(elements)), elements,
                     manifest.tensors.size());
}

std::string tensor_line(const TensorEntry& tensor, std::string_view block) {
  std::string_view name = tensor.name;
  if (!block.empty()) name.remove_prefix(block.size() + 1);
  std::string states;
  for (const StateEntry& state : tensor.states) {
    states += fmt::format(" {}", state.name);
    if (state.dtype != DType::f32) states += fmt::format(":{}", name_of(state.dtype));
    if (state.held == StateClass::per_rank) states += " (per rank)";
  }
  return fmt::format("  {:<34} {:<16} {:>10}  {:>4} pieces {}\n", name, shape_text(tensor.shape),
                     format_bytes(bytes_of(tensor)), pieces_of(tensor), states);
}

std::string block_heading(const TensorBlock& block) {
  std::int64_t bytes = 0;
  for (const TensorEntry* tensor : block.tensors) bytes += bytes_of(*tensor);
  if (block.name.empty()) return "\n";
  if (block.count == 1) return fmt::format("\n{}  {}\n", block.name, format_bytes(bytes));
  return fmt::format("\n{} to {}  {} equal blocks, each {}\n", block.name, block.last, block.count,
                     format_bytes(bytes));
}

std::string range_text(const BrokenRange& range) {
  if (range.chunk.empty())
    return fmt::format("broken      {} {}: {}\n", range.tensor, range.state, range.reason);
  return fmt::format("broken      {} {}, elements {} to {}: {}, bytes {} to {}: {}\n", range.tensor,
                     range.state, range.first, range.last - 1, range.chunk, range.from,
                     range.to - 1, range.reason);
}

std::string verdict_text(const InspectReport& report) {
  if (!report.verification) return "\nverified    no: checksums were not checked (--no-verify)\n";
  const Verification& found = *report.verification;
  if (found.broken.empty()) {
    const double rate = static_cast<double>(found.bytes) / std::max(report.seconds, 1e-3);
    return fmt::format("\nverified    {} in {:.2g} s ({}/s): every piece is intact\n",
                       format_bytes(found.bytes), report.seconds,
                       format_bytes(static_cast<std::int64_t>(rate)));
  }
  std::string text = "\n";
  const std::size_t shown =
      report.all ? found.broken.size() : std::min(found.broken.size(), kShownRanges);
  for (std::size_t i = 0; i < shown; ++i) text += range_text(found.broken[i]);
  if (shown < found.broken.size())
    text += fmt::format("broken      and {} more ranges (--all lists them)\n",
                        found.broken.size() - shown);
  for (const std::string& line : what_still_loads(*report.manifest, found.broken))
    text += fmt::format("still loads {}\n", line);
  return text;
}

}  // namespace

std::string utc_text(std::int64_t ms) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

std::string inspect_text(const InspectReport& report) {
  const Manifest& m = *report.manifest;
  std::string text = fmt::format("checkpoint  {}\n", report.folder);
  text += fmt::format("step        {}\n", state_facts(m.state));
  text += fmt::format("saved       {} by {}, build {}, {}\n", utc_text(m.saved_ms), m.program,
                      m.build, counted(m.world_size, "rank"));
  text += m.origin.path.empty()
              ? "began       from new weights\n"
              : fmt::format("began       from {} ({})\n", m.origin.path, m.origin.load);
  text += fmt::format("model       {}\n", model_facts(m));
  text += fmt::format("training    {}\n", training_facts(m));
  text += fmt::format("parameters  {}\n", parameter_facts(m));
  text += fmt::format("size        {}\n", size_facts(m));
  for (const TensorBlock& block : blocks_of(m, !report.all)) {
    text += block_heading(block);
    for (const TensorEntry* tensor : block.tensors) text += tensor_line(*tensor, block.name);
  }
  return text + verdict_text(report);
}

}  // namespace ds
