#include "engine/tokenizer/tokenizer.h"

#include <xxhash.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/base/error.h"
#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/converted.h"
#include "engine/tokenizer/decoders.h"
#include "engine/tokenizer/encode_with_borders.h"
#include "engine/tokenizer/folder_files.h"
#include "engine/tokenizer/normalizers.h"
#include "engine/tokenizer/pre_tokenizers.h"
#include "engine/tokenizer/token_model.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

using Numbers = std::vector<std::int32_t>;

std::string hash_of(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// A part of what a post-processor makes: tokens before and behind the text, or without it.
struct Around {
  Numbers before{}, behind{};
  bool has_text = true;
};

Numbers numbers_in(const Component& template_, const std::string& token) {
  const Component::Json& known = template_.member("special_tokens");
  const auto found = known.find(token);
  if (!known.is_object() || found == known.end() || !found->is_object() || !found->contains("ids"))
    template_.refuse(fmt::format("\"special_tokens\" does not have \"{}\"", token));
  Numbers numbers;
  for (const Component::Json& id : (*found)["ids"]) {
    if (!id.is_number_integer() || id < 0 || id > INT32_MAX)
      template_.refuse(fmt::format("\"{}\" has an impossible id", token));
    numbers.push_back(id.get<std::int32_t>());
  }
  return numbers;
}

std::vector<Around> template_of(const Component& component, const std::vector<Around>& given) {
  if (given.size() != 1) component.refuse("a template behind a template is not supported");
  std::vector<Around> parts;
  for (const Component& part : component.children("single")) {
    if (part.has("Sequence")) {
      parts.push_back(given[0]);
    } else {
      const std::string id = part.child("SpecialToken").text("id");
      parts.push_back({.before = numbers_in(component, id), .has_text = false});
    }
  }
  return parts;
}

std::int32_t number_in(const Component& component, const char* key) {
  const Component::Json& pair = component.member(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_integer())
    component.refuse(fmt::format("\"{}\" is not a token and its number", key));
  return pair[1].get<std::int32_t>();
}

/// Applies a post-processor to the parts that the one before it has made.
void process(const Component& component, std::vector<Around>& parts) {
  const std::string type = component.type();
  if (type == "ByteLevel") return;  // it changes offsets alone
  if (type == "TemplateProcessing") {
    parts = template_of(component, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const std::int32_t cls = number_in(component, "cls"), sep = number_in(component, "sep");
    for (std::size_t i = 0; i < parts.size(); ++i) {  // as if each were a text
      if (i == 0 || type == "RobertaProcessing")
        parts[i].before.insert(parts[i].before.begin(), i == 0 ? cls : sep);
      parts[i].behind.push_back(sep);
    }
  } else if (type == "Sequence") {
    for (const Component& part : component.children("processors")) process(part, parts);
  } else {
    component.refuse_type();
  }
}

Around around_of(const Component& component) {
  std::vector<Around> parts(1);
  process(component, parts);
  Around all;
  bool is_behind = false;
  for (const Around& part : parts) {
    Numbers& first = is_behind ? all.behind : all.before;
    first.insert(first.end(), part.before.begin(), part.before.end());
    is_behind = is_behind || part.has_text;
    Numbers& last = is_behind ? all.behind : all.before;
    last.insert(last.end(), part.behind.begin(), part.behind.end());
  }
  return all;
}

}  // namespace

struct Tokenizer::Parts {
  Parts(const Component& file, std::string hash_);

  std::string hash{};
  Normalizer normalizer{};  // these may be null
  PreTokenizer pre_tokenizer{};
  TokenDecoder decoder{};
  std::unique_ptr<TokenModel> model{};
  Around around{};
  TokenFinder raw{}, normalized{};  // in the text as it is, and once it is normalized
  std::unordered_map<std::int32_t, std::string> texts{};
  std::unordered_map<std::string, std::int32_t> added{};
  std::vector<std::int32_t> specials{};  // sorted
  std::int64_t size = 0;

  void add(const std::vector<AddedToken>& tokens);
  /// Returns whether what begins the normalized text comes from the text's first character.
  [[nodiscard]] bool keeps_first(std::string_view text, const std::string& changed) const;
  void encode_segment(std::string_view text, bool is_first, Numbers& tokens,
                      std::vector<EncodedWord>* words = nullptr) const;
};

void Tokenizer::Parts::add(const std::vector<AddedToken>& tokens) {
  for (const auto& [text, number] : model->numbers()) {
    texts.emplace(number, text);
    size = std::max<std::int64_t>(size, number + 1);
  }
  std::unordered_set<std::string> special_contents;
  for (const AddedToken& token : tokens) {
    added.insert_or_assign(token.content, token.number);
    size = std::max<std::int64_t>(size, token.number + 1);
    if (token.special) special_contents.insert(token.content);
    std::string content = token.content;
    if (token.normalized && normalizer) normalizer(content);
    (token.normalized ? normalized : raw).add(token, content);
    texts.insert_or_assign(token.number, std::move(content));
  }
  // The library decodes to the normalized text, and knows special tokens by the text as written.
  for (const AddedToken& token : tokens)
    if (special_contents.contains(texts.at(token.number))) specials.push_back(token.number);
  std::ranges::sort(specials);
}

bool Tokenizer::Parts::keeps_first(std::string_view text, const std::string& changed) const {
  const std::size_t length = unicode::length_of(text[0]);
  std::string first(text.substr(0, length)), rest(text.substr(length));
  normalizer(first);
  if (!first.empty()) return true;
  normalizer(rest);  // a space that would go alone may stay before other characters
  return rest != changed;
}

/// Appends the tokens, and to `encoded` the words that they are of.
void Tokenizer::Parts::encode_segment(std::string_view text, bool is_first, Numbers& tokens,
                                      std::vector<EncodedWord>* encoded) const {
  std::string changed(text);
  if (normalizer) {
    normalizer(changed);
    is_first = is_first && keeps_first(text, changed);
  }
  std::vector<TextSegment> segments;
  normalized.cut(changed, segments);
  for (const TextSegment& segment : segments) {
    if (segment.token >= 0) {
      if (encoded != nullptr) encoded->push_back({std::string(segment.text), tokens.size()});
      tokens.push_back(segment.token);
      continue;
    }
    std::vector<Word> words{
        {std::string(segment.text), is_first && segment.text.data() == changed.data()}};
    if (pre_tokenizer) pre_tokenizer(words);
    for (const Word& word : words) {
      if (encoded != nullptr) encoded->push_back({word.text, tokens.size()});
      model->encode(word.text, tokens);
    }
  }
}

Tokenizer Tokenizer::open(const std::string& path) {
  const TokenizerText text = read_tokenizer(path);
  return Tokenizer(std::make_unique<Parts>(Component(text.json, text.place), text.hash));
}

std::shared_ptr<const Tokenizer> Tokenizer::shared(const std::string& path) {
  static std::mutex mutex;
  static std::shared_ptr<const Tokenizer> last;
  const TokenizerText text = read_tokenizer(path);
  const std::scoped_lock lock(mutex);
  if (!last || last->hash() != text.hash)
    last = std::shared_ptr<const Tokenizer>(
        new Tokenizer(std::make_unique<Parts>(Component(text.json, text.place), text.hash)));
  return last;
}

bool Tokenizer::exists(const std::string& folder) { return has_tokenizer(folder); }

Tokenizer::Tokenizer(std::string_view json, const std::string& place)
    : parts_(std::make_unique<Parts>(Component(json_object(std::string(json), place), place),
                                     hash_of(json))) {}

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Tokenizer::Parts::Parts(const Component& file, std::string hash_) : hash(std::move(hash_)) {
  if (file.has("normalizer")) normalizer = make_normalizer(file.child("normalizer"));
  if (file.has("pre_tokenizer")) pre_tokenizer = make_pre_tokenizer(file.child("pre_tokenizer"));
  if (file.has("decoder")) decoder = make_decoder(file.child("decoder"));
  if (file.has("post_processor")) around = around_of(file.child("post_processor"));
  model = make_model(file.child("model"));
  add(added_tokens_of(file));
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool special) const {
  const std::string valid = unicode::valid(text);
  Numbers tokens;
  if (special) tokens = parts_->around.before;
  std::vector<TextSegment> segments;
  parts_->raw.cut(valid, segments);
  for (const TextSegment& segment : segments) {
    if (segment.token >= 0) {
      tokens.push_back(segment.token);
    } else {
      parts_->encode_segment(segment.text, segment.text.data() == valid.data(), tokens);
    }
  }
  const Numbers& behind = parts_->around.behind;
  if (special) tokens.insert(tokens.end(), behind.begin(), behind.end());
  return tokens;
}

EncodedPieces Tokenizer::encode_pieces(std::span<const std::string_view> pieces) const {
  std::string all;
  std::vector<std::size_t> places;
  for (const std::string_view piece : pieces) {
    places.push_back(all.size());
    all += unicode::valid(piece);
  }
  std::vector<TextSegment> segments;
  parts_->raw.cut(all, segments);
  const EncodeText encode = [&](std::string_view text, bool is_first, Numbers& tokens) {
    std::vector<EncodedWord> words;
    parts_->encode_segment(text, is_first, tokens, &words);
    return words;
  };
  const TokenText text_of = [&](std::int32_t token) -> std::string_view {
    const auto found = parts_->texts.find(token);
    return found == parts_->texts.end() ? std::string_view() : found->second;
  };
  return encode_with_borders(segments, places, encode, text_of);
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens, bool special) const {
  std::vector<std::string> texts;
  for (const std::int32_t token : tokens) {
    const auto found = parts_->texts.find(token);
    if (found == parts_->texts.end()) continue;
    if (!special && std::ranges::binary_search(parts_->specials, token)) continue;
    texts.push_back(found->second);
  }
  if (parts_->decoder) parts_->decoder(texts);
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0 && !parts_->decoder) all += ' ';
    all += texts[i];
  }
  return all;
}

std::int64_t Tokenizer::size() const { return parts_->size; }

std::optional<std::int32_t> Tokenizer::number_of(std::string_view token) const {
  if (const auto found = parts_->added.find(std::string(token)); found != parts_->added.end())
    return found->second;
  const auto found = parts_->model->numbers().find(token);
  if (found == parts_->model->numbers().end()) return std::nullopt;
  return found->second;
}

const std::string& Tokenizer::hash() const { return parts_->hash; }

}  // namespace ds
