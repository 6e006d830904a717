// Parser for variable files: a shell's quoting rules, without any expansion. Refuses files that
// other users could have written. Also rules for names and secret values.
#include "launcher/cli/env_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kBlanks = " \t\r";

class LineReader {
 public:
  explicit LineReader(const SourceLine& line) : line_(line), text_(line.text) {}

  /// Returns false for a line without a variable.
  bool read(NamedValue& variable) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] == '#') return false;
    if (text_.substr(at_).starts_with("export ") || text_.substr(at_).starts_with("export\t")) {
      at_ += 7;
      skip_blanks();
    }
    read_name(variable);
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      read_quoted(variable.value);
    } else {
      read_plain(variable.value);
    }
    if (variable.value.find('\0') != std::string::npos)
      fail(at_, "a value cannot contain a NUL byte");
    return true;
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string_view what, std::string hint = {}) const {
    throw text_error(line_, at, what, std::move(hint));
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  void read_name(NamedValue& variable) {
    const std::size_t equals = text_.find('=', at_);
    if (equals == std::string_view::npos)
      fail(at_, "expected NAME=value", "for example NCCL_DEBUG=INFO");
    variable.name = text_.substr(at_, equals - at_);
    if (!is_env_name(variable.name))
      fail(at_, fmt::format("'{}' is not a valid variable name", variable.name),
           "use letters, digits and '_', with no blank before '='");
    if (is_reserved_variable(variable.name))
      fail(at_, fmt::format("dslaunch sets {} for every rank", variable.name), "remove the line");
    at_ = equals + 1;
  }

  /// Reads up to the end of the line, or up to a '#' after a blank.
  void read_plain(std::string& value) {
    std::string_view rest = text_.substr(at_);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const bool after_blank = i == 0 || kBlanks.find(rest[i - 1]) != std::string_view::npos;
      if (rest[i] == '#' && after_blank) rest = rest.substr(0, i);
    }
    value = rest.substr(0, rest.find_last_not_of(kBlanks) + 1);  // npos + 1 is 0
  }

  void read_quoted(std::string& value) {
    const std::size_t opening = at_;
    const char quote = text_[at_++];
    constexpr std::string_view kEscaped = "\"\\$`";
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const bool escape = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                          kEscaped.find(text_[at_ + 1]) != std::string_view::npos;
      if (escape) ++at_;
      value += text_[at_];
    }
    if (at_ == text_.size()) fail(opening, "missing closing quote", "a value cannot span lines");
    ++at_;
    const std::size_t behind = at_;
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] != '#' || at_ == behind))
      fail(at_, "unexpected text after the closing quote", "quote the whole value");
  }

  const SourceLine& line_;
  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::size_t kLargestFile = std::size_t{1} << 20;

[[noreturn]] void fail_file(const std::string& path, const std::string& why,
                            std::string hint = {}) {
  throw Error(ErrorKind::config, fmt::format("cannot use variables from {}: {}", path, why),
              std::move(hint));
}

std::string read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file(path, std::generic_category().message(errno));
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile) fail_file(path, "the file is larger than 1 MiB");
  }
}

/// Reads the file if its permissions are safe. `named` tells that the user named it.
EnvFile read_file(int fd, const std::string& path, bool named) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail_file(path, std::generic_category().message(errno));
  if (S_ISDIR(info.st_mode)) fail_file(path, "it is a directory");
  const bool regular = S_ISREG(info.st_mode);
  if (regular && (info.st_mode & S_IWOTH) != 0)
    fail_file(path, "every user can write it", fmt::format("chmod o-w {}", path));
  if (!named && info.st_uid != ::geteuid() && info.st_uid != 0)
    fail_file(
        path, "it belongs to another user",
        fmt::format("if you trust it, set DS_ENV_FILE=/dev/null and use --env-file {}", path));
  return {parse_env_file(read_all(fd, path), path), regular && (info.st_mode & S_IROTH) != 0};
}

}  // namespace

std::vector<NamedValue> parse_env_file(std::string_view text, std::string_view file_name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<NamedValue> variables;
  for (int number = 1; !text.empty(); ++number) {
    const SourceLine line = {file_name, number, take_line(text)};
    NamedValue variable{.name = {}, .value = {}, .source = fmt::format("{}:{}", file_name, number)};
    if (LineReader(line).read(variable)) variables.push_back(std::move(variable));
  }
  return variables;
}

EnvFile load_env_file(const std::string& path) {
  if (path == "-") return {parse_env_file(read_all(STDIN_FILENO, "standard input"), "<stdin>")};
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    fail_file(
        path, std::generic_category().message(errno),
        errno == ENOENT ? "check --env-file; relative paths start at the current directory" : "");
  return read_file(fd.get(), path, true);
}

EnvFile load_default_env_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    // In a folder that this user cannot search (another user's home) the file may not even exist.
    struct stat info {};
    if (error == ENOENT || error == ENOTDIR || ::stat(path.c_str(), &info) != 0) return {};
    fail_file(path, std::generic_category().message(error));
  }
  return read_file(fd.get(), path, false);
}

bool is_env_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !name.empty() && (name.front() < '0' || name.front() > '9') &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_runner_setting(std::string_view name) {
  constexpr std::string_view kSettings[] = {
      "DSLAUNCH_CUDA_PLUGIN",   "DSLAUNCH_CUBLASLT",       "DSLAUNCH_CUDNN",
      "DSLAUNCH_NCCL",          "DSLAUNCH_CACHE_DIR",      "DSLAUNCH_CUDA_ATTENTION",
      "DSLAUNCH_TIME_PRODUCTS", "DSLAUNCH_PARQUET_PLUGIN", "DSLAUNCH_PMIX_LIBRARY"};
  return std::ranges::count(kSettings, name) > 0;
}

bool is_reserved_variable(std::string_view name) {
  using namespace contract;
  constexpr std::string_view kReserved[] = {
      kRank,       kLocalRank,  kWorldSize,     kLocalWorldSize, kNodeRank,    kGroupRank,
      kMasterAddr, kMasterPort, kCrossRank,     kCrossSize,      kLocalSize,   kGroupWorldSize,
      kRoleName,   kRoleRank,   kRoleWorldSize, kRestartCount,   kMaxRestarts, kRunId};
  if (is_runner_setting(name)) return false;
  return name.starts_with("DSLAUNCH_") || std::ranges::count(kReserved, name) > 0;
}

bool looks_secret(std::string_view name) {
  constexpr std::string_view kTelling[] = {"TOKEN",   "SECRET",     "PASSWORD",
                                           "PASSWD",  "PASSPHRASE", "CREDENTIAL",
                                           "API_KEY", "APIKEY",     "ACCESS_KEY"};
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return std::ranges::any_of(
      kTelling, [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

bool is_redacted(const std::string& name, const std::vector<std::string>& patterns) {
  if (looks_secret(name)) return true;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

void blank_value(char* value) {
  const std::size_t size = std::strlen(value);
  std::memset(value, 0, size);
  std::memcpy(value, kRedacted.data(), std::min(size, kRedacted.size()));
}

void blank_values(int argc, char** argv) {
  bool ours = true;  // words between -- and ':' belong to a program's command
  for (int word = 1; word < argc; ++word) {
    const std::string_view text(argv[word]);
    if (text == "--") ours = false;
    if (text == ":") ours = true;
    if (!ours || !text.starts_with("-x")) continue;
    char* name = argv[word] + 2;
    if (text == "-x" && word + 1 < argc) name = argv[++word];
    if (char* const equals = std::strchr(name, '=')) blank_value(equals + 1);
  }
}

}  // namespace ds::launcher
