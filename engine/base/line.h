// Line: one line of text built on the stack, so that output of every step does not allocate.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ds {

/// Holds up to 1000 characters without the heap; longer lines work, but allocate.
class Line {
 public:
  template <class... Args>
  static Line of(fmt::format_string<Args...> format, Args&&... args) {
    Line line;
    line.add(format, std::forward<Args>(args)...);
    return line;
  }
  template <class... Args>
  Line& add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    return *this;
  }
  Line& append(std::string_view text) {
    text_.append(text.data(), text.data() + text.size());
    return *this;
  }
  /// Appends spaces until the line has at least `columns` characters.
  void pad(std::size_t columns) {
    while (text_.size() < columns) text_.push_back(' ');
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), text_.size()}; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] bool empty() const { return text_.size() == 0; }
  // NOLINTNEXTLINE(google-explicit-constructor): a Line is accepted wherever text is
  operator std::string_view() const { return view(); }
  friend bool operator==(const Line& a, std::string_view b) { return a.view() == b; }

 private:
  fmt::basic_memory_buffer<char, 1000> text_;
};

}  // namespace ds
