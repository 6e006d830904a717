// Fuzzes tokenizer.json and the text that it encodes, which are split at the first byte 0xFF.
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/tokenizer/tokenizer.h"
#include "fuzz/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\xFF');
  try {
    const ds::Tokenizer tokenizer(input.substr(0, end), "tokenizer.json");
    const std::string_view text = end == std::string_view::npos ? "text" : input.substr(end + 1);
    const auto tokens = tokenizer.encode(text);
    static_cast<void>(tokenizer.decode(tokens, true));
    static_cast<void>(tokenizer.decode(tokens));
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::config, "bad files are errors of the input");
    DS_ASSERT(error.for_people().size() < 4096, "long values are cut");
    ds::test::check_for_terminal(error.for_people());
  }
  return 0;
}
