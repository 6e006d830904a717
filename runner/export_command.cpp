// Words to a request; what was written, in lines.
#include "runner/export_command.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/checkpoint/tools/choose.h"
#include "engine/exchange/export.h"
#include "runner/tool_words.h"

namespace ds {
namespace {

constexpr ToolOption kExportOptions[] = {
    {"--format", true}, {"--dtype", true}, {"--shard-size", true}, {"--vocab", true}};

DType dtype_of(const std::string& word) {
  if (word.empty() || word == "fp32") return DType::f32;
  if (word == "bf16") return DType::bf16;
  if (word == "fp16") return DType::f16;
  throw Error(ErrorKind::usage, fmt::format("--dtype takes fp32, bf16 or fp16, not '{}'", word));
}

std::int64_t bytes_of(const std::string& word) {
  if (const auto bytes = parse_bytes(word)) return *bytes;
  throw Error(ErrorKind::usage, fmt::format("--shard-size takes bytes as 5G, not '{}'", word));
}

std::int64_t rows_of(const std::string& word) {
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error == std::errc{} && rest == end && value > 0) return value;
  throw Error(ErrorKind::usage, fmt::format("--vocab takes a number of rows, not '{}'", word));
}

ExportRequest request_of(const ToolWords& words) {
  if (words.others.size() != 2)
    throw Error(ErrorKind::usage, "export takes a checkpoint and a folder to make",
                "dslaunch export CHECKPOINT OUT");
  if (words.has("--format") && words.value("--format") != "hf")
    throw Error(ErrorKind::usage,
                fmt::format("--format takes hf, not '{}'", words.value("--format")));
  ExportRequest request{.out = words.others[1], .dtype = dtype_of(words.value("--dtype"))};
  if (words.has("--shard-size")) request.shard_bytes = bytes_of(words.value("--shard-size"));
  if (words.has("--vocab")) request.vocab = rows_of(words.value("--vocab"));
  return request;
}

void tell(const std::string& from, const ExportRequest& request, const ExportResult& result) {
  fmt::print("{}: {} of {}, {} in {} file{}\n", request.out, name_of(request.dtype), from,
             format_bytes(result.bytes), result.files, result.files == 1 ? "" : "s");
  if (result.vocab < result.our_vocab) {
    fmt::print("  embedding: {} of {} rows; the rest is padding (--vocab {} keeps it)\n",
               result.vocab, result.our_vocab, result.our_vocab);
  } else if (!result.is_vocab_known) {
    fmt::print("  embedding: all {} rows; which of them are padding is not known (--vocab N)\n",
               result.our_vocab);
  }
  if (result.overflowed > 0)
    fmt::print("  {} weights are too large for fp16 and are infinite now: use bf16 or fp32\n",
               result.overflowed);
  fmt::print("  no tokenizer: the files hold the model alone\n");
}

}  // namespace

int run_export(const std::vector<std::string>& words) {
  const ToolWords read = read_tool_words("export", words, kExportOptions);
  const ExportRequest request = request_of(read);
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
