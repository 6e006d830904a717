// make_normalizer(): one function for each type of the tokenizers library.
#include "engine/tokenizer/normalizers.h"

#include <memory>
#include <utility>

#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/charsmap.h"
#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

/// Returns a normalizer that appends something for each character.
template <class Append>
Normalizer by_character(Append append) {
  return [append](std::string& text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) append(out, unicode::next(text, at));
    text = std::move(out);
  };
}

template <class Drops>
Normalizer without(Drops drops) {
  return by_character([drops](std::string& out, char32_t c) {
    if (!drops(c)) unicode::append(out, c);
  });
}

Normalizer in_form(unicode::Form form) {
  return [form](std::string& text) { text = unicode::normalized(text, form); };
}

Normalizer all_of(std::vector<Normalizer> parts) {
  return [parts = std::move(parts)](std::string& text) {
    for (const Normalizer& part : parts) part(text);
  };
}

void strip(std::string& text, bool left, bool right) {
  std::size_t first = 0, end = 0;
  bool begun = !left;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t before = at;
    const bool is_space = unicode::is_white_space(unicode::next(text, at));
    if (!begun) {
      if (is_space) continue;
      first = before;
      begun = true;
    }
    if (!is_space || !right) end = at;
  }
  text = begun && end > first ? text.substr(first, end - first) : std::string();
}

Normalizer replace(const Component& component) {
  const auto pattern = std::make_shared<Pattern>(component.pattern());
  return [pattern, content = component.text("content")](std::string& text) {
    std::vector<Part> found;
    pattern->find(text, found);
    std::string out;
    std::size_t at = 0;
    for (const auto& [first, end] : found) {
      out.append(text, at, first - at).append(content);
      at = end;
    }
    text = out.append(text, at);
  };
}

bool is_line_space(char32_t c) { return c == '\t' || c == '\n' || c == '\r'; }

/// BERT's: control characters go, Han characters stand alone, accents and case may go.
Normalizer bert(const Component& component) {
  std::vector<Normalizer> parts;
  if (component.flag("clean_text", true))
    parts.push_back(by_character([](std::string& out, char32_t c) {
      if (c == 0 || c == 0xFFFD || (unicode::is_other(c) && !is_line_space(c))) return;
      unicode::append(out, is_line_space(c) || unicode::is_white_space(c) ? U' ' : c);
    }));
  if (component.flag("handle_chinese_chars", true))
    parts.push_back(by_character([](std::string& out, char32_t c) {
      const bool is_han = unicode::is_han(c);
      if (is_han) out += ' ';
      unicode::append(out, c);
      if (is_han) out += ' ';
    }));
  const bool lowers = component.flag("lowercase", true);
  if (component.flag("strip_accents", lowers)) {
    parts.push_back(in_form(unicode::Form::nfd));
    parts.push_back(without(unicode::is_nonspacing));
  }
  if (lowers) parts.push_back(by_character(unicode::append_lower));
  return all_of(std::move(parts));
}

/// SentencePiece's rules of neural machine translation (its nmt_nfkc without the normal form).
Normalizer nmt() {
  return by_character([](std::string& out, char32_t c) {
    if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
        c == 0x9F)
      return;
    const bool is_space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                          (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                          c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    unicode::append(out, is_space ? U' ' : c);
  });
}

}  // namespace

Normalizer make_normalizer(const Component& component) {
  const std::string type = component.type();
  if (type == "Sequence") {
    std::vector<Normalizer> parts;
    for (const Component& part : component.children("normalizers"))
      parts.push_back(make_normalizer(part));
    return all_of(std::move(parts));
  }
  if (type == "NFC") return in_form(unicode::Form::nfc);
  if (type == "NFD") return in_form(unicode::Form::nfd);
  if (type == "NFKC") return in_form(unicode::Form::nfkc);
  if (type == "NFKD") return in_form(unicode::Form::nfkd);
  if (type == "Lowercase") return by_character(unicode::append_lower);
  if (type == "StripAccents") return without(unicode::is_mark);
  if (type == "Replace") return replace(component);
  if (type == "BertNormalizer") return bert(component);
  if (type == "Nmt") return nmt();
  if (type == "Strip")
    return [left = component.flag("strip_left", true), right = component.flag("strip_right", true)](
               std::string& text) { strip(text, left, right); };
  if (type == "Prepend")
    return [content = component.text("prepend")](std::string& text) {
      if (!text.empty()) text.insert(0, content);
    };
  if (type == "ByteLevel")
    return [bytes = ByteLevel()](std::string& text) { text = bytes.encoded(text); };
  if (type == "Precompiled") {
    const auto map =
        std::make_shared<CharsMap>(component.text("precompiled_charsmap"), component.place());
    return [map](std::string& text) { text = map->normalized(text); };
  }
  component.refuse_type();
}

}  // namespace ds
