// make_decoder(): one function for each type of the tokenizers library.
#include "engine/tokenizer/decoders.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

using Tokens = std::vector<std::string>;

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); !what.empty() && at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string joined(const Tokens& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  return all;
}

/// BERT's: spaces before punctuation and within contractions go.
void clean_up(std::string& text) {
  constexpr std::array<std::pair<const char*, const char*>, 11> kRules{{{" .", "."},
                                                                        {" ?", "?"},
                                                                        {" !", "!"},
                                                                        {" ,", ","},
                                                                        {" ' ", "'"},
                                                                        {" n't", "n't"},
                                                                        {" 'm", "'m"},
                                                                        {" do not", " don't"},
                                                                        {" 's", "'s"},
                                                                        {" 've", "'ve"},
                                                                        {" 're", "'re"}}};
  for (const auto& [what, by] : kRules) replace_all(text, what, by);
}

TokenDecoder word_piece(const Component& component) {
  return [prefix = component.text("prefix", "##"),
          cleans = component.flag("cleanup", true)](Tokens& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && token.starts_with(prefix)) {
        token.erase(0, prefix.size());
      } else if (i > 0) {
        token.insert(0, 1, ' ');
      }
      if (cleans) clean_up(token);
    }
  };
}

TokenDecoder metaspace(const Component& component) {
  const bool prepends = component.text("prepend_scheme", "always") != "never" &&
                        component.flag("add_prefix_space", true);
  return [space = component.text("replacement"), prepends](Tokens& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], space, i == 0 && prepends ? "" : " ");
  };
}

std::optional<char> byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = 16 * value + digit;
  }
  return static_cast<char>(value);
}

/// Adjacent tokens of bytes become their text, or a replacement character each.
void join_bytes(Tokens& tokens) {
  Tokens out;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (unicode::valid(bytes) == bytes) {
      out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const std::optional<char> byte = byte_of(token)) {
      bytes.push_back(*byte);
      continue;
    }
    flush();
    out.push_back(std::move(token));
  }
  flush();
  tokens = std::move(out);
}

void from_byte_level(Tokens& tokens) {
  static const ByteLevel kBytes;
  std::string all;
  for (const std::string& token : tokens) all += kBytes.decoded(token).value_or(token);
  tokens = {unicode::valid(all)};
}

/// Removes up to `start` and `stop` characters `content` at both ends of each token.
TokenDecoder strip(const Component& component) {
  return [content = component.text("content"), start = component.number("start", 0),
          stop = component.number("stop", 0)](Tokens& tokens) {
    if (content.empty()) return;
    for (std::string& token : tokens) {
      for (std::int64_t i = 0; i < start && token.starts_with(content); ++i)
        token.erase(0, content.size());
      for (std::int64_t i = 0; i < stop && token.ends_with(content); ++i)
        token.resize(token.size() - content.size());
    }
  };
}

TokenDecoder replace(const Component& component) {
  const auto pattern = std::make_shared<Pattern>(component.pattern());
  return [pattern, content = component.text("content")](Tokens& tokens) {
    std::vector<Part> found;
    for (std::string& token : tokens) {
      pattern->find(token, found);
      for (auto part = found.rbegin(); part != found.rend(); ++part)
        token.replace(part->first, part->second - part->first, content);
    }
  };
}

}  // namespace

TokenDecoder make_decoder(const Component& component) {
  const std::string type = component.type();
  if (type == "Sequence") {
    std::vector<TokenDecoder> parts;
    for (const Component& part : component.children("decoders"))
      parts.push_back(make_decoder(part));
    return [parts = std::move(parts)](Tokens& tokens) {
      for (const TokenDecoder& part : parts) part(tokens);
    };
  }
  if (type == "ByteLevel") return from_byte_level;
  if (type == "WordPiece") return word_piece(component);
  if (type == "Metaspace") return metaspace(component);
  if (type == "ByteFallback") return join_bytes;
  if (type == "Fuse") return [](Tokens& tokens) { tokens = {joined(tokens)}; };
  if (type == "Strip") return strip(component);
  if (type == "Replace") return replace(component);
  if (type == "BPEDecoder")
    return [suffix = component.text("suffix", "</w>")](Tokens& tokens) {
      for (std::size_t i = 0; i < tokens.size(); ++i)
        replace_all(tokens[i], suffix, i + 1 < tokens.size() ? " " : "");
    };
  component.refuse_type();
}

}  // namespace ds
