// Reads sources and blanks what is not code.
#include "architecture/source_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <sstream>

namespace ds::test {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 6> kFolders = {"launcher", "runner",  "engine",
                                                      "tests",    "scripts", "cmake"};

bool has_extension(std::string_view path, std::initializer_list<std::string_view> extensions) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](std::string_view extension) { return path.ends_with(extension); });
}

bool is_read(std::string_view path) {
  if (path.starts_with("cmake/")) return path.ends_with(".cmake");
  return !path.starts_with("tests/architecture/bad/") &&
         (has_extension(path, {".h", ".cpp", ".cu", ".cuh", ".sh"}) ||
          path.ends_with("CMakeLists.txt"));
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Walks over C++ text and blanks as it goes. Lengths and line ends never change.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), result_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (starts("//")) {
        blank_to(std::min(text_.find('\n', at_), text_.size()));
      } else if (starts("/*")) {
        blank_to(after("*/", at_ + 2));
      } else if (starts("R\"") && !in_word()) {
        blank_raw_string();
      } else if (text_[at_] == '"' || (text_[at_] == '\'' && !in_word())) {
        blank_literal(text_[at_]);
      } else {
        ++at_;
      }
    }
    return result_;
  }

 private:
  [[nodiscard]] bool starts(std::string_view what) const {
    return text_.substr(at_).starts_with(what);
  }

  /// A quote inside a number (10'000) or the R of a longer word starts nothing.
  [[nodiscard]] bool in_word() const {
    return at_ > 0 &&
           (std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0 || text_[at_ - 1] == '_');
  }

  [[nodiscard]] std::size_t after(std::string_view what, std::size_t from) const {
    const std::size_t found = text_.find(what, from);
    return found == std::string_view::npos ? text_.size() : found + what.size();
  }

  void blank_to(std::size_t end) {
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') result_[at_] = ' ';
    }
  }

  void blank_raw_string() {
    const std::size_t open = std::min(text_.find('(', at_), text_.size());
    const std::string closing = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    blank_to(after(closing, open));
  }

  void blank_literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    ++at_;  // The quotes stay.
    blank_to(std::min(end, text_.size()));
    at_ = std::min(at_ + 1, text_.size());
  }

  std::string_view text_;
  std::string result_;
  std::size_t at_ = 0;
};

}  // namespace

bool SourceFile::is_cpp() const { return has_extension(path, {".h", ".cpp", ".cu", ".cuh"}); }

bool SourceFile::is_header() const { return has_extension(path, {".h", ".cuh"}); }

std::vector<SourceFile> read_source_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  if (fs::exists(root / "CMakeLists.txt"))
    files.push_back({"CMakeLists.txt", read_file(root / "CMakeLists.txt"), {}});
  for (const std::string_view folder : kFolders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (!entry.is_regular_file() || !is_read(path)) continue;
      SourceFile file{path, read_file(entry.path()), {}};
      if (file.is_cpp()) file.code = blank_comments_and_literals(file.text);
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::string blank_comments_and_literals(std::string_view text) { return Blanker(text).run(); }

int line_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace ds::test
