#include "runner/train_tokenizer_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/exchange/out_folder.h"
#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer_training/tokenizer_files.h"
#include "runner/tool_progress.h"

namespace ds {
namespace {

constexpr std::int64_t kBytes = 256;
constexpr std::int64_t kMinFrequency = 2;

struct TokenizerRequest {
  TextFiles texts;
  TokenizerKind kind;
  std::vector<std::string> more;  // special tokens beside those of the kind
  std::string out, pattern;
  std::int64_t vocab = 0, min_frequency = kMinFrequency;
  int threads = 1;
};

std::vector<std::string> words_in(const ToolWords& read, std::string_view option) {
  std::vector<std::string> words;
  const std::string value = read.value(option);
  if (value.empty()) return words;
  for (const std::string_view word : split(value, ',')) {
    if (word.empty() || unicode::valid(word) != word)
      throw Error(ErrorKind::usage,
                  fmt::format("{} '{}': one of them is {}", option, printable_text(value, 100),
                              word.empty() ? "empty" : "not UTF-8"),
                  "write them with one comma between");
    words.emplace_back(word);
  }
  return words;
}

std::string word_or(const ToolWords& read, std::string_view option, const char* otherwise) {
  return read.has(option) ? read.value(option) : otherwise;
}

/// Adds the user's special tokens, each of them new.
void add_special(TokenizerRequest& request, std::vector<std::string> more) {
  std::set<std::string> all(request.kind.special.begin(), request.kind.special.end());
  for (const std::string& token : more)
    if (!all.insert(token).second)
      throw Error(
          ErrorKind::usage,
          fmt::format("--special: the token \"{}\" is there twice", printable_text(token, 100)),
          fmt::format("those of the kind {} need not be named", request.kind.name));
  request.more = std::move(more);
  const auto least = kBytes + static_cast<std::int64_t>(all.size());
  if (request.vocab < least)
    throw Error(ErrorKind::usage,
                fmt::format("--vocab {} is too small: {} bytes and {} special token{} are {}",
                            request.vocab, kBytes, all.size(), all.size() == 1 ? "" : "s", least),
                "usual vocabularies have 8192 to 131072 tokens");
}

TokenizerRequest tokenizer_request_of(const ToolWords& read) {
  if (read.others.size() < 2)
    throw Error(ErrorKind::usage, "no text is given",
                "dslaunch data train-tokenizer FILE... --out FOLDER --vocab N");
  for (const char* const option : {"--out", "--vocab"})
    if (!read.has(option))
      throw Error(ErrorKind::usage, fmt::format("data train-tokenizer needs {}", option),
                  "dslaunch data train-tokenizer FILE... --out FOLDER --vocab N");
  TokenizerRequest request;
  const std::set<std::string> files(read.others.begin() + 1, read.others.end());
  request.texts.files.assign(files.begin(), files.end());
  request.texts.fields = words_in(read, "--fields");
  const bool has_fields = !request.texts.fields.empty();
  const auto is_text = [](const std::string& file) { return text_format_of(file) == "text"; };
  if (has_fields && std::ranges::all_of(files, is_text))
    throw Error(ErrorKind::usage, "--fields: no file has lines of JSON",
                "the names of such files end in .jsonl, .jsonl.gz or .jsonl.zst");
  if (!has_fields) request.texts.fields = {"text"};
  request.out = read.value("--out");
  request.pattern = word_or(read, "--pattern", "gpt2");
  request.kind = tokenizer_kind(word_or(read, "--kind", "gpt2"));
  request.vocab = read.number("--vocab");
  request.min_frequency = read.number("--min-frequency", kMinFrequency);
  request.threads = static_cast<int>(read.number("--threads", default_thread_count()));
  add_special(request, words_in(read, "--special"));
  return request;
}

std::vector<CountedPiece> pieces_of(const TokenizerRequest& request) {
  ToolProgress progress("counted");
  const CountWork work{
      .threads = request.threads,
      .tell = [&](std::int64_t done, std::int64_t all) { progress.show(done, all); }};
  std::vector<CountedPiece> pieces =
      count_pieces(request.texts, piece_pattern(request.pattern), work);
  if (pieces.empty())
    throw Error(ErrorKind::config, "the files have no text",
                "give other files, or name other fields of lines of JSON with --fields");
  return pieces;
}

TrainedBpe merged(const TokenizerRequest& request, const std::vector<CountedPiece>& pieces) {
  ToolProgress progress("made", "tokens");
  BpeSettings settings{
      .vocab = request.vocab,
      .min_frequency = request.min_frequency,
      .special = request.kind.special,
      .tell = [&](std::int64_t done, std::int64_t all) { progress.show(done, all); }};
  settings.special.insert(settings.special.end(), request.more.begin(), request.more.end());
  return train_bpe(pieces, settings);
}

}  // namespace

int train_tokenizer(const ToolWords& read) {
  const TokenizerRequest request = tokenizer_request_of(read);
  // A folder that cannot be made is refused before the work. The folder is made after the work, so
  // that a signal leaves nothing.
  static_cast<void>(OutFolder(request.out, 0));
  const std::vector<CountedPiece> pieces = pieces_of(request);
  const TrainedBpe bpe = merged(request, pieces);
  const TokenizerParts parts{request.kind, request.more, request.pattern, bpe};
  OutFolder folder(request.out, 0);
  folder.add_text("tokenizer.json", tokenizer_json(parts));
  folder.add_text("tokenizer_config.json", tokenizer_config_json(parts));
  folder.commit();
  const auto made = std::ssize(bpe.tokens);
  fmt::print("{}: {} tokens, {} of them special, {} merges, from {} different pieces\n",
             request.out, made, request.kind.special.size() + request.more.size(),
             bpe.merges.size(), pieces.size());
  if (made < request.vocab)
    fmt::print(
        "  fewer than --vocab {}: no other pair of tokens occurs {} times within a piece; give "
        "more text\n",
        request.vocab, request.min_frequency);
  return 0;
}

}  // namespace ds
