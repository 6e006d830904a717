#include "launcher/commands/start/python_script.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/split.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr std::size_t kFirstLine = 256;
constexpr std::string_view kPython = "python", kMpi4py = "mpi4py", kBlanks = " \t\r";

/// Returns whether the program is python, python3 or python3.12.
bool is_python(std::string_view program) {
  std::string_view name = program.substr(program.rfind('/') + 1);
  if (!name.starts_with(kPython)) return false;
  name.remove_prefix(kPython.size());
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

std::string_view first_word(std::string_view text) {
  text = trimmed(text);
  return text.substr(0, text.find_first_of(kBlanks));
}

bool is_mpi4py(std::string_view module) {
  return module.substr(0, module.find('.')) == kMpi4py;
}

/// Returns the beginning of a file; empty if it cannot be read.
std::string text_of(const std::filesystem::path& path, std::size_t most = kMostText) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return {};  // a pipe must not be read
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// Returns the file that `python3 NAME` or `python3 -m NAME` runs: a file or the main file of a folder
/// below `folder`; empty if there is none.
std::filesystem::path file_of(const PythonCode& code, const std::filesystem::path& folder) {
  std::string name = code.file;
  if (!code.module.empty()) {
    name = code.module;
    std::ranges::replace(name, '.', '/');
  }
  std::error_code problem;
  const std::filesystem::path path = folder / name;
  const std::filesystem::path main = path / "__main__.py", module = path.string() + ".py";
  if (std::filesystem::is_regular_file(main, problem)) return main;
  return code.module.empty() ? path : module;
}

/// Returns whether the first line of a script names Python.
bool is_python_script(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.starts_with("#!") && line.find(kPython) != std::string_view::npos;
}

}  // namespace

std::optional<PythonCode> python_code(const std::vector<std::string>& argv) {
  if (argv.empty() || !is_python(argv.front())) return std::nullopt;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word == "-") return PythonCode{};
    if (!word.starts_with('-')) return PythonCode{.file = word};
    if (word.starts_with("--")) continue;
    // The value of an option is the rest of its word, or the next word.
    const std::size_t letter = word.find_first_of("cmWX", 1);
    if (letter == std::string::npos) continue;
    const bool is_joined = letter + 1 < word.size();
    if (!is_joined && ++i == argv.size()) break;
    const std::string value = is_joined ? word.substr(letter + 1) : argv[i];
    if (word[letter] == 'c') return PythonCode{.text = value};
    if (word[letter] == 'm') return PythonCode{.module = value};
  }
  return PythonCode{};
}

bool imports_mpi4py(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    for (const std::string_view part : split(line, ';')) {
      std::string_view statement = trimmed(part);
      const std::string_view verb = first_word(statement);
      statement.remove_prefix(verb.size());
      if (verb == "from" && is_mpi4py(first_word(statement))) return true;
      if (verb != "import") continue;
      for (const std::string_view module : split(statement, ','))
        if (is_mpi4py(first_word(module))) return true;
    }
  }
  return false;
}

bool runs_mpi4py(const std::vector<std::string>& argv, const std::string& folder) {
  const std::filesystem::path in = folder;
  if (const std::optional<PythonCode> code = python_code(argv)) {
    const bool has_file = !code->file.empty() || !code->module.empty();
    return is_mpi4py(code->module) ||
           imports_mpi4py(has_file ? text_of(file_of(*code, in)) : code->text);
  }
  if (argv.empty() || argv.front().find('/') == std::string::npos) return false;
  const std::filesystem::path program = in / argv.front();
  return is_python_script(text_of(program, kFirstLine)) && imports_mpi4py(text_of(program));
}

}  // namespace ds::launcher
