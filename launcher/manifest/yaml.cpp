// YAML writer: block style with two spaces; short lists of scalars on one line.
#include "launcher/manifest/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/split.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr char32_t kNoCharacter = 0xFFFFFFFF;

/// Removes one character from the front; returns kNoCharacter for invalid bytes.
char32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const int more = first < 0x80 ? 0 : first < 0xC2 ? -1 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  if (more < 0 || first > 0xF4 || text.size() <= static_cast<std::size_t>(more))
    return kNoCharacter;
  char32_t character = more == 0 ? first : first & (0x3F >> more);
  for (int i = 1; i <= more; ++i) {
    const auto byte = static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
    if ((byte & 0xC0) != 0x80) return kNoCharacter;
    character = character << 6 | (byte & 0x3F);
  }
  constexpr std::array<char32_t, 4> kLeast = {0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xD800 && character < 0xE000;
  if (character < kLeast[static_cast<std::size_t>(more)] || character > 0x10FFFF || surrogate)
    return kNoCharacter;
  text.remove_prefix(static_cast<std::size_t>(more) + 1);
  return character;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns whether YAML 1.1 or 1.2 reads the word as a boolean or null.
bool is_reserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> kReserved = {"y",   "n",    "yes",   "no",  "on",
                                                         "off", "true", "false", "null"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::find(kReserved.begin(), kReserved.end(), lower) != kReserved.end();
}

/// Returns whether every parser reads the text unchanged without quotes, also inside lists.
bool is_plain(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("--")) rest.remove_prefix(2);
  if (rest.empty() || (!is_letter(rest.front()) && text.front() != '/')) return false;
  return !is_reserved(text) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_./@=+-").find(c) != std::string::npos;
  });
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char32_t c = take_character(text);
    if (c == kNoCharacter) {  // impossible: the text is UTF-8
      text.remove_prefix(1);
      out += "\\uFFFD";
    } else if (c == '"' || c == '\\') {
      out += fmt::format("\\{}", static_cast<char>(c));
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c >= 0x20 && c < 0x7F) {
      out += static_cast<char>(c);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += fmt::format("\\U{:08X}", static_cast<unsigned>(c));
    }
  }
  return out + '"';
}

/// Returns whether the text can be a literal block: nothing in it is folded, cut or refused.
bool is_literal(std::string_view text) {
  const std::size_t last_line = text.find_last_of('\n', text.size() - 2);
  if (text.size() < 2 || last_line == text.npos) return false;
  if (text.front() == ' ' || text.front() == '\n') return false;
  if (text.substr(last_line).find_first_not_of(" \n") == text.npos) return false;
  while (!text.empty()) {
    const char32_t c = take_character(text);
    const bool shown = (c >= 0x20 && c < 0x7F) || c == '\n' || (c >= 0xA1 && c < 0x2000);
    if (!shown) return false;
  }
  return true;
}

std::string scalar_text(const Yaml& yaml) {
  if (const auto* text = std::get_if<std::string>(&yaml.value))
    return is_plain(*text) ? *text : quoted(*text);
  if (const auto* number = std::get_if<std::int64_t>(&yaml.value)) return fmt::to_string(*number);
  return std::get<bool>(yaml.value) ? "true" : "false";
}

bool is_scalar(const Yaml& yaml) { return yaml.value.index() < 3; }

/// Returns `[a, b]`; empty if the list needs several lines.
std::string one_line(const Yaml::List& list, std::size_t indent) {
  std::string out;
  for (const Yaml& item : list) {
    if (!is_scalar(item)) return "";
    out += (out.empty() ? "" : ", ") + scalar_text(item);
  }
  return indent + out.size() + 2 > kLineWidth ? "" : "[" + out + "]";
}

std::string block_text(std::string_view text, std::size_t indent) {
  std::string out = text.ends_with('\n') ? "|\n" : "|-\n";
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n'))
    out += std::string(line.empty() ? 0 : indent, ' ') + std::string(line) + '\n';
  return out;
}

void write_map(std::string& out, const Yaml::Map& map, std::size_t indent, bool first_in_place);
void write_list(std::string& out, const Yaml::List& list, std::size_t indent);

/// Writes the value after `key:`, with the end of the line.
void write_entry(std::string& out, const Yaml& yaml, std::size_t indent) {
  if (const auto* text = std::get_if<std::string>(&yaml.value);
      text != nullptr && is_literal(*text)) {
    out += " " + block_text(*text, indent + 2);
  } else if (is_scalar(yaml)) {
    out += " " + scalar_text(yaml) + "\n";
  } else if (const auto* list = std::get_if<Yaml::List>(&yaml.value)) {
    const std::string line = one_line(*list, out.size() - (out.rfind('\n') + 1));
    if (!line.empty()) {
      out += " " + line + "\n";
    } else {
      out += "\n";
      write_list(out, *list, indent);
    }
  } else if (const auto& map = std::get<Yaml::Map>(yaml.value); map.empty()) {
    out += " {}\n";
  } else {
    out += "\n";
    write_map(out, map, indent + 2, false);
  }
}

void write_map(std::string& out, const Yaml::Map& map, std::size_t indent, bool first_in_place) {
  for (const auto& [key, yaml] : map) {
    if (!first_in_place) out += std::string(indent, ' ');
    first_in_place = false;
    out += scalar_text(key) + ":";
    write_entry(out, yaml, indent);
  }
}

void write_list(std::string& out, const Yaml::List& list, std::size_t indent) {
  for (const Yaml& item : list) {
    out += std::string(indent, ' ') + "-";
    const auto* map = std::get_if<Yaml::Map>(&item.value);
    if (map != nullptr && !map->empty()) {
      out += ' ';
      write_map(out, *map, indent + 2, true);
    } else {
      write_entry(out, item, indent + 2);
    }
  }
}

}  // namespace

std::string yaml_text(const Yaml& document) {
  std::string out;
  write_map(out, std::get<Yaml::Map>(document.value), 0, false);
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty())
    if (take_character(text) == kNoCharacter) return false;
  return true;
}

}  // namespace ds::launcher
