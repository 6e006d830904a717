#include "launcher/hosts/hostfile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <unordered_map>

#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "engine/base/unique_fd.h"
#include "launcher/hosts/host_line.h"
#include "launcher/hosts/host_ranges.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int kMostIncludes = 1000;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Returns the error for a comment at byte `at` of `text`.
Error unclosed_comment(std::string_view text, std::size_t at, std::string_view file) {
  const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0.
  const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
  const auto lines_before =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return text_error({file, static_cast<int>(lines_before) + 1, text.substr(begin, end - begin)},
                    at - begin, "unclosed comment", "add */ at its end");
}

/// Replaces every byte of a comment by a blank; line ends stay. A comment begins at a word that
/// starts with '#' or '//', to the end of the line, or with '/*', up to '*/'.
/// Errors:  Error{config} if a comment that starts with '/*' does not end.
std::string blank_comments(std::string_view text, std::string_view file) {
  std::string code(text);
  bool word_starts = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t end = at;
    if (word_starts && (rest.starts_with('#') || rest.starts_with("//"))) {
      end = std::min(text.find('\n', at), text.size());
    } else if (word_starts && rest.starts_with("/*")) {
      const std::size_t closing = text.find("*/", at + 2);
      if (closing == std::string_view::npos) throw unclosed_comment(text, at, file);
      end = closing + 2;
    }
    if (end == at) {
      word_starts = is_blank(text[at++]);
      continue;
    }
    for (; at < end; ++at)
      if (!is_blank(text[at])) code[at] = ' ';
    word_starts = true;
  }
  return code;
}

/// Combines lines into hosts. A host is a name with a port: one name with two ports is two hosts.
class HostList {
 public:
  void add(const SourceLine& source, const HostLine& line) {
    const std::size_t known = hosts_.size() + left_out_.size();
    if (known + line.names.size() > kMaxHosts)
      throw text_error(source, line.offset, fmt::format("more than {} hosts", kMaxHosts), {});
    if (line.excluded) return leave_out(source, line);
    for (std::size_t i = 0; i < line.names.size(); ++i) {
      const auto [entry, is_new] =
          index_.try_emplace(fmt::format("{} {}", line.names[i], line.port), hosts_.size());
      if (is_new)
        hosts_.push_back(host_of(source, line, i));
      else
        repeat(source, line, entry->second);
      hosts_[entry->second].turns.push_back(turns_++);
    }
  }

  [[nodiscard]] bool empty() const { return hosts_.empty(); }

  /// Returns the hosts without the excluded ones.
  std::vector<Host> take() {
    std::set<std::string> names;
    for (const Host& host : hosts_) names.insert(host.name);
    for (const LeftOut& host : left_out_)
      if (!names.contains(host.name)) throw host.error;
    for (const LeftOut& host : left_out_) names.erase(host.name);
    std::erase_if(hosts_, [&](const Host& host) { return !names.contains(host.name); });
    return std::move(hosts_);
  }

 private:
  struct LeftOut {
    std::string name;
    Error error;  // thrown if the file has no such host
  };

  static Host host_of(const SourceLine& source, const HostLine& line, std::size_t at) {
    return {
        .name = line.names[at],
        .user = line.user,
        .port = line.port,
        .slots = line.slots.value_or(1),
        .place = {std::string(source.file), source.number, text_column(source.text, line.offset)},
        .bare = !line.slots,
        .max_slots = line.max_slots.value_or(0),
        .devices = line.gpus,
        .address = line.addresses.empty() ? "" : line.addresses[at]};
  }

  void leave_out(const SourceLine& source, const HostLine& line) {
    for (const std::string& name : line.names)
      left_out_.push_back(
          {name, text_error(source, line.offset,
                            fmt::format("host '{}' is excluded, but no line names it", name),
                            "write the name as in its own line")});
  }

  void repeat(const SourceLine& source, const HostLine& line, std::size_t at) {
    Host& host = hosts_[at];
    const auto fail = [&](std::string_view what, std::string hint) {
      throw text_error(source, line.offset,
                       fmt::format("host '{}' {} (first at {}:{}:{})", host.name, what,
                                   host.place.file, host.place.line, host.place.column),
                       std::move(hint));
    };
    const bool was_bare =
        host.bare && host.max_slots == 0 && host.devices.empty() && host.address.empty();
    if (!was_bare || !line.is_bare())
      fail("is given twice",
           "give a host one line with slots=N; only lines without options may repeat and add up");
    if (host.user != line.user)
      fail("is given twice with different users", "use one user per host");
    if (host.slots == kMaxSlots) fail(fmt::format("has more than {} slots", kMaxSlots), {});
    ++host.slots;
  }

  std::vector<Host> hosts_;
  int turns_ = 0;
  std::vector<LeftOut> left_out_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// Reads a file and its includes into one list.
class FileReader {
 public:
  FileReader(HostList& list, const IncludeReader& read_include)
      : list_(list), read_include_(read_include) {}

  void read(std::string_view text, std::string_view file, std::string_view identity) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const std::string code = blank_comments(text, file);
    std::string_view code_left = code;
    open_.emplace_back(identity);
    for (int number = 1; !text.empty(); ++number) {
      const SourceLine source = {file, number, take_line(text)};
      const auto line = parse_host_line(source, take_line(code_left));
      if (!line) continue;
      if (const auto* host = std::get_if<HostLine>(&*line)) list_.add(source, *host);
      if (const auto* include = std::get_if<IncludeLine>(&*line)) follow(source, *include);
    }
    open_.pop_back();
  }

 private:
  void follow(const SourceLine& source, const IncludeLine& include) {
    if (!read_include_)
      throw text_error(source, include.offset, "include is not supported here", {});
    if (++includes_ > kMostIncludes)
      throw text_error(source, include.offset, fmt::format("more than {} includes", kMostIncludes),
                       {});
    try {
      const IncludedText file = read_include_(include.path, std::string(source.file));
      if (std::find(open_.begin(), open_.end(), file.identity) != open_.end())
        throw Error(ErrorKind::config, fmt::format("{} includes itself", file.name));
      read(file.text, file.name, file.identity);
    } catch (const Error& error) {
      throw Error(error.kind(),
                  fmt::format("{}\n  included by {}:{}", error.what(), source.file, source.number),
                  error.hint());
    }
  }

  HostList& list_;
  const IncludeReader& read_include_;
  std::vector<std::string> open_;  // identities, outermost first
  int includes_ = 0;
};

constexpr std::size_t kLargestFile = std::size_t{16} << 20;

[[noreturn]] void cannot_read(const std::string& path, int error_number, std::string hint) {
  throw Error(ErrorKind::config,
              fmt::format("cannot read hostfile {}: {}", path,
                          std::generic_category().message(error_number)),
              std::move(hint));
}

std::string hint_for(int error_number) {
  if (error_number == ENOENT)
    return "check --hostfile; relative paths start at the current directory";
  if (error_number == EISDIR) return "--hostfile takes a file, not a directory";
  return error_number == EACCES ? "check the file's permissions" : "";
}

std::string read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(path, errno, hint_for(errno));
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile)
      throw Error(ErrorKind::config, fmt::format("hostfile {} is larger than 16 MiB", path),
                  "check that this is a hostfile, with one host or one range per line");
  }
}

/// Reads a file; `missing_hint` is the hint if it does not exist.
IncludedText read_file(const std::string& path, const std::string& missing_hint) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) cannot_read(path, errno, errno == ENOENT ? missing_hint : hint_for(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) cannot_read(path, errno, {});
  if (S_ISDIR(info.st_mode)) cannot_read(path, EISDIR, hint_for(EISDIR));
  return {path, fmt::format("{} {}", info.st_dev, info.st_ino), read_all(fd.get(), path)};
}

/// Reads an included file. A relative path starts at the folder of the including file.
IncludedText read_included(const std::string& path, const std::string& from) {
  return read_file((std::filesystem::path(from).parent_path() / path).string(),
                   "relative paths start at the folder of the including file");
}

}  // namespace

std::vector<Host> parse_hostfile(std::string_view text, std::string_view file_name,
                                 const IncludeReader& read_include, std::string_view identity) {
  HostList list;
  FileReader(list, read_include).read(text, file_name, identity);
  if (list.empty())
    throw Error(ErrorKind::config, fmt::format("{}: the file names no host", file_name),
                "write one host per line, for example: node01 slots=8");
  std::vector<Host> hosts = list.take();
  if (hosts.empty())
    throw Error(ErrorKind::config, fmt::format("{}: every host is excluded by ^", file_name));
  return hosts;
}

std::vector<Host> load_hostfile(const std::string& path) {
  if (path == "-")
    return parse_hostfile(read_all(STDIN_FILENO, "standard input"), "<stdin>", read_included, "-");
  const IncludedText file = read_file(path, hint_for(ENOENT));
  return parse_hostfile(file.text, path, read_included, file.identity);
}

}  // namespace ds::launcher
