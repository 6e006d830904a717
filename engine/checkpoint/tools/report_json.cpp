// Formats the report of a checkpoint as JSON.
#include <nlohmann/json.hpp>

#include "engine/checkpoint/tools/flat_lines.h"
#include "engine/checkpoint/tools/report.h"
#include "engine/checkpoint/tools/tree.h"

namespace ds {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const TrainingState& state) {
  return {{"step", state.step},
          {"next_sample", state.next_sample},
          {"seed", state.seed},
          {"updates", state.updates},
          {"skipped", state.skipped},
          {"lr", state.lr},
          {"loss_scale", state.loss_scale.scale}};
}

ordered_json json_of(const TensorEntry& tensor) {
  ordered_json states = ordered_json::array();
  for (const StateEntry& state : tensor.states)
    states.push_back({{"name", state.name},
                      {"dtype", name_of(state.dtype)},
                      {"bytes", bytes_of(state)},
                      {"pieces", state.pieces.size()}});
  return {{"name", tensor.name},
          {"block", block_of(tensor.name)},
          {"shape", tensor.shape},
          {"states", std::move(states)}};
}

ordered_json json_of(const BrokenRange& range) {
  ordered_json json = {{"tensor", range.tensor}, {"state", range.state}, {"reason", range.reason}};
  if (range.chunk.empty()) return json;
  json["elements"] = {range.first, range.last};
  json["chunk"] = range.chunk;
  json["bytes"] = {range.from, range.to};
  return json;
}

ordered_json json_of(const std::vector<NamedLine>& lines) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, value] : lines) json[name] = value;
  return json;
}

ordered_json verification_json(const InspectReport& report) {
  if (!report.verification) return nullptr;
  ordered_json broken = ordered_json::array();
  for (const BrokenRange& range : report.verification->broken) broken.push_back(json_of(range));
  return {{"bytes", report.verification->bytes},
          {"seconds", report.seconds},
          {"whole", report.verification->broken.empty()},
          {"broken", std::move(broken)},
          {"still_loads", what_still_loads(*report.manifest, report.verification->broken)}};
}

}  // namespace

std::string inspect_json(const InspectReport& report) {
  const Manifest& m = *report.manifest;
  ordered_json chunks = ordered_json::array(), tensors = ordered_json::array();
  for (const ChunkFile& chunk : m.chunks)
    chunks.push_back({{"name", chunk.name}, {"bytes", chunk.bytes}});
  for (const TensorEntry& tensor : m.tensors) tensors.push_back(json_of(tensor));
  const ordered_json json = {{"folder", report.folder},
                             {"version", m.version},
                             {"state", json_of(m.state)},
                             {"saved", utc_text(m.saved_ms)},
                             {"program", m.program},
                             {"build", m.build},
                             {"ranks", m.world_size},
                             {"origin", {{"path", m.origin.path}, {"load", m.origin.load}}},
                             {"config", json_of(flat_lines(m.config))},
                             {"arithmetic", json_of(flat_lines(m.arithmetic))},
                             {"chunks", std::move(chunks)},
                             {"tensors", std::move(tensors)},
                             {"verification", verification_json(report)}};
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ds
