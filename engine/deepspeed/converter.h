// The state of one conversion, for the files convert_*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/deepspeed/convert.h"

namespace ds {

class DsConverter {
 public:
  DsConverter(const JsonFile& file, const DsContext& known)
      : context(known), file_(file), root_(read_json_object(file)) {}

  /// Passes rows of the table that need no other key, and finds unknown and refused keys.
  void walk() { walk(root_, ""); }
  void convert_batch();
  void convert_precision();
  void convert_optimizer();
  void convert_scheduler();
  void convert_zero();
  void convert_monitors();

  DsConversion out{};
  const DsContext& context;

  /// Returns the member at "fp16.enabled"; null if it is missing or null.
  [[nodiscard]] const JsonMember* find(std::string_view path) const;
  [[nodiscard]] bool is_auto(std::string_view path) const;
  /// Returns whether the member is true.
  [[nodiscard]] bool is_true(std::string_view path) const;
  /// Returns whether the members of the object at `path` include others than null.
  [[nodiscard]] const JsonValue* object(std::string_view path) const;

  /// Sets `key` to the value of the member at `path`.
  void copy(std::string_view path, std::string_view key);
  void set(std::string_view key, DsValue value, std::string_view path);
  void set_default(std::string_view key, DsValue value, std::string_view from);
  /// Passes the member at `path` over, if there is one.
  void pass(std::string_view path, std::string_view why);
  void refuse(std::string_view path, std::string_view what, std::string_view hint);
  /// Copies the member; "auto" becomes the default value.
  void copy_or_default(std::string_view path, std::string_view key, DsValue automatic);

 private:
  void walk(const JsonValue& object, const std::string& prefix);
  void member(const JsonMember& member, const std::string& path);
  void row(const DsKey& key, const JsonMember& member, const std::string& path);
  void parts(const JsonValue& object, const std::string& prefix);
  void unknown(const JsonMember& member, const std::string& path);
  void pass(const JsonMember& member, std::string_view path, std::string_view why);
  /// Removes the optimizer's rate, because the scheduler sets it.
  void replace_rate(std::string_view why);
  void scheduler_parameter(std::string_view path, std::string_view name, std::string_view key);
  void scheduler_default_rate(std::string_view type);
  void monitor(std::string_view section, std::string_view key);
  void zero_automatics();
  void zero_folders();
  void zero_old_forms();
  void zero_ratio();

  const JsonFile& file_;
  const JsonValue root_;
};

/// Returns the text of a member that is a string, else "".
std::string_view text_of(const JsonMember* member);

}  // namespace ds
