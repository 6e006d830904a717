// One line of text on the stack: what is printed in every step must not allocate.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ds {

/// Up to 500 characters without a heap; longer lines are right too, but allocate.
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
  /// Fills up with spaces to `columns` at least.
  void pad(std::size_t columns) {
    while (text_.size() < columns) text_.push_back(' ');
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), text_.size()}; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] bool empty() const { return text_.size() == 0; }
  // NOLINTNEXTLINE(google-explicit-constructor): a line is text wherever text is wanted
  operator std::string_view() const { return view(); }
  friend bool operator==(const Line& a, std::string_view b) { return a.view() == b; }

 private:
  fmt::basic_memory_buffer<char, 500> text_;
};

}  // namespace ds
