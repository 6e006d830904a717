#include "engine/tokenizer/vocab_files.h"

#include <fmt/format.h>

#include <string_view>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

using Json = nlohmann::json;

/// Calls see(line, place) for each line, which is UTF-8. `place`: "FILE:LINE".
template <class See>
void each_line(const std::string& text, const std::string& path, See see) {
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string line(take_line(rest));
    const std::string place = fmt::format("{}:{}", path, number);
    if (unicode::valid(line) != line)
      throw Error(ErrorKind::config, place + ": is not UTF-8", "copy the file again");
    see(line, place);
  }
}

/// Returns the text without white space at its end, as the tokenizers library reads lines.
std::string without_space_at_end(std::string text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();)
    if (!unicode::is_white_space(unicode::next(text, at))) end = at;
  text.resize(end);
  return text;
}

Json merge_of(const std::string& line, const std::string& place, const Json& vocab) {
  const std::vector<std::string_view> parts = split(line, ' ');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
    throw Error(
        ErrorKind::config,
        fmt::format("{}: expected two tokens, found \"{}\"", place, printable_text(line, 100)),
        "copy the file again");
  }
  const std::string left(parts[0]), right(parts[1]);
  for (const std::string& token : {left, right, left + right}) {
    if (!vocab.contains(token)) {
      throw Error(ErrorKind::config,
                  fmt::format("{}: merges \"{}\" and \"{}\", but vocab.json does not have \"{}\"",
                              place, printable_text(left, 100), printable_text(right, 100),
                              printable_text(token, 200)),
                  "vocab.json and merges.txt must be of one tokenizer");
    }
  }
  return {left, right};
}

}  // namespace

Json read_bpe_files(FolderFiles& files) {
  const std::string path = files.path_of("vocab.json");
  Json vocab = json_object(files.text("vocab.json"), path);
  for (const auto& [token, number] : vocab.items()) {
    if (!number.is_number_integer() || number < 0 || number > INT32_MAX) {
      throw Error(
          ErrorKind::config,
          fmt::format("{}: the token \"{}\" has no number", path, printable_text(token, 100)),
          "copy the file again");
    }
  }
  Json merges = Json::array();
  each_line(files.text("merges.txt"), files.path_of("merges.txt"),
            [&](const std::string& line, const std::string& place) {
              if (line.empty() || line.starts_with("#version")) return;
              merges.push_back(merge_of(line, place, vocab));
            });
  return {{"vocab", std::move(vocab)}, {"merges", std::move(merges)}};
}

Json read_token_lines(FolderFiles& files, const std::string& name) {
  Json vocab = Json::object();
  int number = 0;
  each_line(files.text(name), files.path_of(name),
            [&](const std::string& line, const std::string& place) {
              const std::string token = without_space_at_end(line);
              if (const auto [at, is_new] = vocab.emplace(token, number); !is_new) {
                throw Error(ErrorKind::config,
                            fmt::format("{}: the token \"{}\" is also in line {}", place,
                                        printable_text(token, 100), at->get<int>() + 1),
                            "each line must be another token; remove one of them");
              }
              ++number;
            });
  return vocab;
}

}  // namespace ds
