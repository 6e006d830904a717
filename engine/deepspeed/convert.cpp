// Walks through the JSON by the table. Keys that depend on others are converted by convert_*.cpp.
#include "engine/deepspeed/convert.h"

#include <algorithm>
#include <cmath>

#include "engine/base/text_error.h"
#include "engine/deepspeed/converter.h"

namespace ds {
namespace {

using Kind = JsonValue::Kind;

/// Returns an integer for 5e8, which Python's JSON reads as a float and DeepSpeed as an integer.
DsValue number_value(const JsonValue& value) {
  if (value.is(Kind::integer)) return value.integer;
  const bool whole = std::abs(value.number) >= 1 && std::abs(value.number) < 9e18 &&
                     value.number == std::floor(value.number);
  if (whole) return static_cast<std::int64_t>(value.number);
  return value.number;
}

/// Returns the value for train.toml; false for an object, or a list of mixed types.
bool to_value(const JsonValue& value, DsValue& out) {
  switch (value.kind) {
    case Kind::flag:
      out = value.flag;
      return true;
    case Kind::integer:
    case Kind::number:
      out = number_value(value);
      return true;
    case Kind::text:
      out = value.text;
      return true;
    case Kind::list: {
      std::vector<double> numbers;
      for (const JsonValue& element : value.list) {
        if (!element.is(Kind::integer) && !element.is(Kind::number)) return false;
        numbers.push_back(element.number);
      }
      out = numbers;
      return true;
    }
    default:
      return false;
  }
}

/// Returns whether an object asks for nothing: its switch is missing, false, "auto" or at most
/// `most`.
bool is_off(const JsonValue& value, std::string_view switch_name, std::int64_t most) {
  if (!value.is(Kind::object)) return value.is(Kind::flag) && !value.flag;
  const JsonMember* found = value.find(switch_name);
  if (found == nullptr || found->value.is(Kind::null)) return true;
  if (found->value.is(Kind::text)) return found->value.text == "auto";
  if (found->value.is(Kind::integer)) return found->value.integer <= most;
  return found->value.is(Kind::flag) && !found->value.flag;
}

bool is_harmless(const DsKey& key, const JsonValue& value, std::string_view shown) {
  if (key.harmless == "@off") return is_off(value, "enabled", 0);
  if (key.harmless.starts_with('@')) return is_off(value, key.harmless.substr(1), 1);
  const std::string whole = fmt::format("|{}|", key.harmless);
  return !key.harmless.empty() && shown.find('|') == std::string_view::npos &&
         whole.find(fmt::format("|{}|", shown)) != std::string::npos;
}

}  // namespace

const DsSetting* DsConversion::find(std::string_view key) const {
  const auto found = std::ranges::find(settings, key, &DsSetting::key);
  return found == settings.end() ? nullptr : &*found;
}

std::string_view text_of(const JsonMember* member) {
  return member != nullptr && member->value.is(Kind::text) ? std::string_view(member->value.text)
                                                           : std::string_view();
}

const JsonMember* DsConverter::find(std::string_view path) const {
  const JsonValue* object = &root_;
  for (;;) {
    const std::size_t dot = path.find('.');
    const JsonMember* found = object->find(path.substr(0, dot));
    if (found == nullptr || found->value.is(Kind::null)) return nullptr;
    if (dot == std::string_view::npos) return found;
    object = &found->value;
    path.remove_prefix(dot + 1);
  }
}

bool DsConverter::is_auto(std::string_view path) const { return text_of(find(path)) == "auto"; }

bool DsConverter::is_true(std::string_view path) const {
  const JsonMember* found = find(path);
  return found != nullptr && found->value.is(Kind::flag) && found->value.flag;
}

const JsonValue* DsConverter::object(std::string_view path) const {
  const JsonMember* found = find(path);
  return found != nullptr && found->value.is(Kind::object) ? &found->value : nullptr;
}

void DsConverter::set(std::string_view key, DsValue value, std::string_view path) {
  const JsonMember* found = find(path);
  const std::size_t name = found == nullptr ? 0 : found->name_offset;
  if (const DsSetting* other = out.find(key); other != nullptr && !other->is_default) {
    return refuse(path, fmt::format("{} and {} both become {}", path, other->from, key),
                  "delete one of the two");
  }
  std::erase_if(out.settings, [key](const DsSetting& setting) { return setting.key == key; });
  out.settings.push_back({.key = std::string(key),
                          .value = std::move(value),
                          .from = std::string(path),
                          .is_default = false,
                          .name_offset = name,
                          .value_offset = found == nullptr ? 0 : found->value.offset});
}

void DsConverter::set_default(std::string_view key, DsValue value, std::string_view from) {
  if (out.find(key) != nullptr) return;
  out.settings.push_back({.key = std::string(key),
                          .value = std::move(value),
                          .from = std::string(from),
                          .is_default = true});
}

void DsConverter::copy(std::string_view path, std::string_view key) {
  const JsonMember* found = find(path);
  if (found == nullptr) return;
  DsValue value;
  if (to_value(found->value, value)) return set(key, std::move(value), path);
  refuse(path,
         fmt::format("{} is {}, which {} cannot be", path, shown_value(file_, found->value), key),
         "docs/deepspeed.md shows what is converted");
}

void DsConverter::copy_or_default(std::string_view path, std::string_view key, DsValue automatic) {
  if (is_auto(path)) {
    pass(path, fmt::format("{} of train.toml, else the default of transformers", key));
    return set_default(key, std::move(automatic), fmt::format("{} = \"auto\"", path));
  }
  copy(path, key);
}

void DsConverter::pass(std::string_view path, std::string_view why) {
  if (const JsonMember* found = find(path)) pass(*found, path, why);
}

void DsConverter::pass(const JsonMember& member, std::string_view path, std::string_view why) {
  std::erase_if(out.passed, [path](const DsPassed& other) { return other.from == path; });
  const std::string value =
      member.value.is(Kind::object) ? "{...}" : shown_value(file_, member.value);
  out.passed.push_back({std::string(path), value, std::string(why)});
}

void DsConverter::refuse(std::string_view path, std::string_view what, std::string_view hint) {
  const JsonMember* found = find(path);
  out.findings.push_back(
      json_error(file_, found == nullptr ? 0 : found->name_offset, what, std::string(hint)));
}

void DsConverter::walk(const JsonValue& object, const std::string& prefix) {
  for (const JsonMember& each : object.members) member(each, prefix + each.name);
}

void DsConverter::member(const JsonMember& each, const std::string& path) {
  if (each.name.find('.') != std::string::npos) return unknown(each, path);
  if (const DsKey* key = find_ds_key(path)) return row(*key, each, path);
  if (!has_ds_keys_below(path)) return unknown(each, path);
  if (each.value.is(Kind::object)) return walk(each.value, path + ".");
  if (each.value.is(Kind::null)) return pass(each, path, "null asks for nothing");
  if (path == "zero_optimization" && each.value.is(Kind::flag))  // a form that DeepSpeed deprecates
    return set("zero.stage", std::int64_t{each.value.flag ? 1 : 0}, path);
  refuse(path, fmt::format("{} must be an object", path),
         fmt::format("write \"{}\": {{...}}", path));
}

void DsConverter::row(const DsKey& key, const JsonMember& each, const std::string& path) {
  if (each.value.is(Kind::null)) return pass(each, path, "null asks for nothing");
  if (!key.parts.empty() && each.value.is(Kind::object)) parts(each.value, path + ".");
  switch (key.fate) {
    case DsFate::mapped:
      if (!key.copied) return;
      if (text_of(&each) != "auto") return copy(path, key.toml);
      return pass(each, path, fmt::format("\"auto\" is the default of {}", key.toml));
    case DsFate::always:
      return pass(each, path, fmt::format("always so: {}", key.text));
    case DsFate::no_matter:
      return pass(each, path, fmt::format("no matter here: {}", key.text));
    case DsFate::refused:
      if (text_of(&each) == "auto" || is_harmless(key, each.value, shown_value(file_, each.value)))
        return pass(each, path, "asks for nothing");
      const std::size_t cut = key.text.rfind("; ");
      const std::string_view advice = cut == std::string_view::npos ? "" : key.text.substr(cut + 2);
      out.findings.push_back(json_error(file_, each.name_offset,
                                        fmt::format("{}: {}", path, key.text.substr(0, cut)),
                                        std::string(advice)));
  }
}

void DsConverter::parts(const JsonValue& object, const std::string& prefix) {
  for (const JsonMember& each : object.members) {
    const std::string path = prefix + each.name;
    if (each.name.find('.') != std::string::npos || !is_known_ds_key(path)) {
      unknown(each, path);
    } else if (each.value.is(Kind::object)) {
      parts(each.value, path + ".");
    }
  }
}

void DsConverter::unknown(const JsonMember& each, const std::string& path) {
  const std::string near = nearest_ds_key(path);
  out.findings.push_back(
      json_error(file_, each.name_offset,
                 fmt::format("unknown key \"{}\"{}", printable_text(path, 100),
                             near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)),
                 "DeepSpeed may ignore it in silence; docs/deepspeed.md lists every key"));
}

DsConversion convert_deepspeed(const JsonFile& file, const DsContext& context) {
  DsConverter converter(file, context);
  converter.walk();
  converter.convert_batch();
  converter.convert_precision();
  converter.convert_optimizer();
  converter.convert_scheduler();
  converter.convert_zero();
  converter.convert_monitors();
  return std::move(converter.out);
}

Error joined_findings(const JsonFile& file, const std::vector<Error>& findings) {
  DS_ASSERT(!findings.empty());
  if (findings.size() == 1) return findings.front();
  std::string message =
      fmt::format("{}: {} keys cannot be converted\n", file.name, findings.size());
  for (std::size_t i = 0; i + 1 < findings.size(); ++i) message += findings[i].for_people() + "\n";
  return {ErrorKind::config, message + findings.back().what(), findings.back().hint()};
}

}  // namespace ds
