// Fuzzes the files of folders without tokenizer.json. The first byte says which: "s": a
// SentencePiece model; "b": vocab.json, merges.txt, tokenizer_config.json and
// special_tokens_map.json, split at bytes 0xFF; "w": vocab.txt and the last two of these.
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/tokenizer/converters.h"
#include "engine/tokenizer/tokenizer.h"
#include "fuzz/check_text.h"

namespace {

using Files = std::map<std::string, std::string>;

Files files_of(char kind, std::string_view input) {
  if (kind == 's') return {{"spiece.model", std::string(input)}};
  static constexpr const char* kNames[] = {"vocab.json", "merges.txt", "tokenizer_config.json",
                                           "special_tokens_map.json"};
  Files files;
  std::size_t at = 0;
  for (const std::string_view part : ds::split(input, '\xFF')) {
    if (at == 4) break;
    files.emplace(kind == 'w' && at < 2 ? "vocab.txt" : kNames[at], part);
    at += kind == 'w' && at == 0 ? 2 : 1;
  }
  return files;
}

void open_and_use(char kind, std::string_view input) {
  ds::FolderFiles files("folder", files_of(kind, input));
  const nlohmann::json config = files.object("tokenizer_config.json");
  const ds::ConverterInput folder{.files = files, .config = config, .name = {}};
  const nlohmann::json made = kind == 's'   ? ds::convert_sentence_piece(folder)
                              : kind == 'w' ? ds::convert_bert(folder)
                                            : ds::convert_roberta(folder);
  const ds::Tokenizer tokenizer(made.dump(), "folder");
  const auto tokens = tokenizer.encode("Some text <s>, \u00E9\u4E2D\n <extra_id_0>");
  static_cast<void>(tokenizer.decode(tokens, true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    open_and_use(input[0], input.substr(1));
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::config, "bad files are errors of the input");
    DS_ASSERT(error.for_people().size() < 4096, "long values are cut");
    ds::test::check_for_terminal(error.for_people());
  }
  return 0;
}
