// export_adapter(): writes a checkpoint's adapters as a folder of PEFT.
#pragma once

#include <memory>
#include <string>

#include "engine/checkpoint/reader.h"
#include "engine/tensor/tensor.h"

namespace ds {

struct AdapterExport {
  std::int64_t bytes = 0;  // of all tensors
  std::size_t modules = 0;
};

/// Writes adapter_config.json and adapter_model.safetensors. The folder appears complete or not at
/// all. Errors: Error{config}: `out` is not empty, too little space, a checkpoint without adapters,
/// or one in which other tensors trained too (lora.train), which such a folder would lack;
/// Error{system}: it cannot be written.
AdapterExport export_adapter(const std::shared_ptr<const Checkpoint>& checkpoint,
                             const std::string& out, DType dtype);

}  // namespace ds
