// Adapters are small: each is read whole, transposed and written.
#include "engine/exchange/export_adapter.h"

#include <cstring>
#include <vector>

#include "engine/base/error.h"
#include "engine/exchange/merge_adapters.h"
#include "engine/exchange/out_folder.h"
#include "engine/safetensors/safetensors.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

namespace ds {
namespace {

/// Appends a (columns, rows) matrix made of our (rows, columns) values.
void append_turned(std::vector<std::byte>& bytes, const std::vector<float>& values,
                   std::int64_t rows, std::int64_t columns, DType dtype) {
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float value = values[static_cast<std::size_t>(row * columns + column)];
      const std::uint16_t half =
          dtype == DType::bf16 ? bf16_from_float(value) : f16_from_float(value);
      const auto* const from = dtype == DType::f32 ? reinterpret_cast<const std::byte*>(&value)
                                                   : reinterpret_cast<const std::byte*>(&half);
      bytes.insert(bytes.end(), from, from + size_of(dtype));
    }
  }
}

}  // namespace

AdapterExport export_adapter(const std::shared_ptr<const Checkpoint>& checkpoint,
                             const std::string& out, DType dtype) {
  const ModelFacts facts = model_facts(checkpoint->manifest());
  const std::vector<LinearModule> adapted = adapted_modules(*checkpoint, facts);
  if (adapted.empty())
    throw Error(ErrorKind::config, fmt::format("{}: has no adapters", checkpoint->folder()),
                "leave --adapter out to write the model; [lora] trains adapters");
  if (!facts.lora.train.empty())
    throw Error(ErrorKind::config,
                fmt::format("{}: lora.train trained tensors of the model too, which a folder of "
                            "adapters would lack",
                            checkpoint->folder()),
                "leave --adapter out to write the merged model");
  std::vector<SafetensorsEntry> entries;
  std::vector<std::byte> bytes;
  std::vector<float> values;
  PieceReader reader(checkpoint);
  for (const LinearModule& module : adapted) {
    for (const std::string_view end : {kLoraA, kLoraB}) {
      const std::string name = module.ours + std::string(end);
      const std::vector<std::int64_t>& shape = checkpoint->tensor(name)->shape;
      values.resize(static_cast<std::size_t>(shape[0] * shape[1]));
      reader.read(name, kMaster, 0, values);
      const auto from = std::ssize(bytes);
      append_turned(bytes, values, shape[0], shape[1], dtype);
      entries.push_back({.name = peft_name(facts.model, name),
                         .dtype = dtype,
                         .shape = {shape[1], shape[0]},
                         .from = from,
                         .to = std::ssize(bytes)});
    }
  }
  const std::string header = safetensors_header(entries);
  const std::int64_t all = std::ssize(header) + std::ssize(bytes);
  OutFolder folder(out, all);
  OutFile file = folder.add("adapter_model.safetensors", all);
  file.write(std::as_bytes(std::span(header)), 0);
  file.write(bytes, std::ssize(header));
  file.finish();
  folder.add_text("adapter_config.json",
                  peft_config_json(facts.model, facts.lora,
                                   linear_modules(facts.model, facts.seq_len), adapted));
  folder.commit();
  return {.bytes = std::ssize(bytes), .modules = adapted.size()};
}

}  // namespace ds
