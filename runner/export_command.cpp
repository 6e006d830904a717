// Parses the words of `export`, writes the files and prints a summary.
#include "runner/export_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/tool_options.h"
#include "engine/base/units.h"
#include "engine/checkpoint/tools/choose.h"
#include "engine/exchange/export.h"
#include "engine/exchange/export_adapter.h"
#include "runner/tool_progress.h"

namespace ds {
namespace {

DType dtype_of(const std::string& word) {
  if (word == "bf16") return DType::bf16;
  return word == "fp16" ? DType::f16 : DType::f32;
}

ExportRequest request_of(const ToolWords& words) {
  if (words.others.size() != 2)
    throw Error(ErrorKind::usage, "export needs a checkpoint and a new folder",
                "dslaunch export CHECKPOINT OUT");
  ExportRequest request{.out = words.others[1], .dtype = dtype_of(words.value("--dtype"))};
  if (words.has("--shard-size")) request.shard_bytes = words.bytes("--shard-size");
  if (words.has("--vocab")) request.vocab = words.number("--vocab");
  request.like = words.value("--like");
  if (!request.like.empty() && !std::filesystem::exists(request.like + "/config.json"))
    throw Error(ErrorKind::usage, fmt::format("--like {}: has no config.json", request.like),
                "name a Hugging Face folder");
  return request;
}

/// Writes the adapters alone.
int run_adapter_export(const ToolWords& words, const ExportRequest& request) {
  for (const char* const option : {"--shard-size", "--vocab", "--like"})
    if (words.has(option))
      throw Error(ErrorKind::usage, fmt::format("{} does not apply with --adapter", option));
  const std::string from = checkpoint_at(words.others[0]);
  const AdapterExport made = export_adapter(Checkpoint::open(from), request.out, request.dtype);
  fmt::print("{}: the adapters of {} layers of {}, {} of {}\n", request.out, made.modules, from,
             format_bytes(made.bytes), name_of(request.dtype));
  return 0;
}

void tell(const std::string& from, const ExportRequest& request, const ExportResult& result) {
  fmt::print("{}: {} of {}, {} in {} file{}\n", request.out, name_of(request.dtype), from,
             format_bytes(result.bytes), result.files, result.files == 1 ? "" : "s");
  if (result.vocab < result.our_vocab) {
    fmt::print("  embedding: {} of {} rows; the rest is padding (keep it with --vocab {})\n",
               result.vocab, result.our_vocab, result.our_vocab);
  } else if (!result.is_vocab_known) {
    fmt::print(
        "  embedding: all {} rows, since the number of padding rows is unknown (cut with --vocab "
        "N)\n",
        result.our_vocab);
  }
  if (result.overflowed > 0)
    fmt::print("  {} weights exceed the range of fp16 and became infinite; use bf16 or fp32\n",
               result.overflowed);
  if (!result.copied.empty()) {
    fmt::print("  as they are in {}: {}\n", result.like, fmt::join(result.copied, ", "));
  } else if (result.like.empty()) {
    fmt::print("  no tokenizer: the files contain only the model\n");
  } else {
    fmt::print("  no tokenizer: {} has none, or is not here (name a folder with --like)\n",
               result.like);
  }
}

}  // namespace

int run_export(const std::vector<std::string>& words) {
  const ToolWords read("export", words);
  const ExportRequest request = request_of(read);
  if (read.has("--adapter")) return run_adapter_export(read, request);
  const std::string folder = checkpoint_at(read.others[0]);
  ExportResult result;
  {
    ToolProgress progress("exported");
    result = export_hugging_face(
        Checkpoint::open(folder), request,
        [&progress](std::int64_t done, std::int64_t bytes) { progress.show(done, bytes); });
  }
  tell(folder, request, result);
  return 0;
}

}  // namespace ds
