// Fuzz target: a file of JSONL, read for every task.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "engine/packing/raw_reader.h"
#include "engine/tokenizer/unicode.h"
#include "fuzz/check_text.h"

namespace {

std::string path_of(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("lines", MFD_CLOEXEC);
  DS_ASSERT(::ftruncate(file, 0) == 0);
  DS_ASSERT(::pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  return "/proc/self/fd/" + std::to_string(file);
}

const std::array<ds::DataConfig, 3>& tasks() {
  static const std::array<ds::DataConfig, 3> made = [] {
    std::array<ds::DataConfig, 3> configs;
    for (ds::DataConfig& config : configs) config.format = "jsonl";
    configs[0].json_fields = {"text"};
    configs[1].task = ds::DataTask::response;
    configs[1].json_fields = {"prompt", "response"};
    configs[2].task = ds::DataTask::chat;
    configs[2].json_fields = {"messages"};
    return configs;
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = path_of(data, size);
  const auto bytes = static_cast<std::int64_t>(size);
  for (const ds::DataConfig& config : tasks()) {
    // In two stretches, so that the border falls anywhere.
    for (const auto& [begin, end] :
         {std::pair<std::int64_t, std::int64_t>{0, bytes / 3}, {bytes / 3, bytes}}) {
      try {
        const ds::RawChunk chunk{.ranges = {{path, begin, end}}, .bytes = end - begin};
        ds::read_documents(chunk, config, [](const ds::RawDocument& document, const auto&) {
          for (const std::string& text : document.texts)
            DS_ASSERT(ds::unicode::valid(text) == text, "texts are UTF-8");
        });
      } catch (const ds::Error& error) {
        DS_ASSERT(error.kind() == ds::ErrorKind::config, "bad lines are errors of the input");
        ds::test::check_for_terminal(error.for_people());
      }
    }
  }
  return 0;
}
