#include "launcher/hosts/host_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "engine/base/nearest_word.h"
#include "engine/base/split.h"
#include "engine/base/units.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher {
namespace {

constexpr int kMaxPort = 65535;
constexpr std::array<std::string_view, 6> kOwnKeys = {"slots", "max-slots", "gpus",
                                                      "port",  "user",      "addr"};

std::vector<Word> split_words(std::string_view code) {
  std::vector<Word> words;
  std::size_t at = 0;
  while ((at = code.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
    const std::size_t end = std::min(code.find_first_of(" \t\r", at), code.size());
    words.push_back({code.substr(at, end - at), at});
    at = end;
  }
  return words;
}

/// Parses one line into a HostLine; every method throws through fail().
class LineReader {
 public:
  explicit LineReader(const SourceLine& line) : line_(line) {}

  HostLine read(const std::vector<Word>& words) {
    result_.offset = words.front().offset;
    refuse_rankfile(words);
    read_host(words.front());
    if (result_.excluded && words.size() > 1)
      fail(words[1].offset, "an excluded host cannot have options", "for example: ^node07");
    for (std::size_t i = 1; i < words.size();) i = read_option(words, i);
    finish();
    return std::move(result_);
  }

 private:
  struct Key {
    std::string_view names;  // spellings of Open MPI, Hydra and others; '_' equals '-'
    void (LineReader::*set)(Word value);
    bool once = true;  // else `set` refuses a second value
  };
  static const std::array<Key, 6> kKeys;

  [[noreturn]] void fail(std::size_t offset, std::string_view what, std::string hint = {}) const {
    throw text_error(line_, offset, what, std::move(hint));
  }

  void refuse_rankfile(const std::vector<Word>& words) const {
    const bool looks_so = words.size() > 1 && words[0].text == "rank" &&
                          words[1].text.front() >= '0' && words[1].text.front() <= '9';
    if (looks_so)
      fail(words[0].offset, "rankfile lines ('rank N=host slot=S') are not supported",
           "name each host with slots=N; use --map-by for the order of the ranks");
  }

  void read_host(Word word) {
    if (word.text.front() == '^') {
      result_.excluded = true;
      word = word.part(1);
    }
    HostWord host = read_host_word(line_, word);
    result_.names = std::move(host.names);
    if (host.user) set_user(*host.user);
    if (!host.suffix) return;
    if (result_.excluded)
      fail(host.suffix->offset, "an excluded host cannot have slots", "for example: ^node07");
    set_slots(*host.suffix);
  }

  /// Reads `key=value`, with or without blanks around '='. Returns the index of the next word.
  std::size_t read_option(const std::vector<Word>& words, std::size_t at) {
    const Word word = words[at++];
    const std::size_t equals = word.text.find('=');
    const Word key = word.part(0, equals);
    const bool sign_follows =
        equals == std::string_view::npos && at < words.size() && words[at].text.front() == '=';
    if (key.text.empty() || (equals == std::string_view::npos && !sign_follows))
      fail(word.offset, fmt::format("{} is not key=value", quoted(word.text)),
           "for example: node01 slots=8 port=2222");
    Word value = sign_follows ? words[at++].part(1) : word.part(equals + 1);
    const bool value_follows = value.text.empty() && at < words.size() &&
                               words[at].text.find('=') == std::string_view::npos;
    if (value_follows) value = words[at++];
    set(key, value);
    return at;
  }

  void set(Word key, Word value) {
    std::string name(key.text);
    std::replace(name.begin(), name.end(), '_', '-');
    const auto known = std::ranges::find_if(kKeys, [&](const Key& each) {
      return std::ranges::count(split(each.names, ' '), name) > 0;
    });
    if (known == kKeys.end()) unknown(key, name);
    if (known->once && !given_.insert(known->names).second)
      fail(value.offset, fmt::format("{} is given twice", key.text));
    (this->*known->set)(value);
  }

  [[noreturn]] void unknown(Word key, const std::string& name) const {
    const std::string near = nearest_word(name, kOwnKeys);
    fail(key.offset, fmt::format("unknown key {}", quoted(key.text)),
         near.empty() ? fmt::format("known keys: {}", fmt::join(kOwnKeys, ", "))
                      : fmt::format("did you mean '{}'?", near));
  }

  void set_slots(Word value) {
    if (result_.slots)
      fail(value.offset, "slots are given twice", "write either host:N or slots=N, once");
    if (value.text == "auto" || value.text == "*") {
      result_.slots = kAutoSlots;
      return;
    }
    result_.slots = read_number(line_, value, "slots", kMaxSlots);
    if (*result_.slots == 0)
      fail(value.offset, "a host must have at least 1 slot",
           "to exclude a host, remove its line or put '#' before it");
  }

  void set_max_slots(Word value) {
    result_.max_slots = read_number(line_, value, "max-slots", kMaxSlots);
    max_slots_at_ = value.offset;
  }

  void set_gpus(Word value) {
    result_.gpus = read_number_list(line_, value, "gpus", kMaxSlots - 1);
    gpus_at_ = value.offset;
    if (std::set<int>(result_.gpus.begin(), result_.gpus.end()).size() != result_.gpus.size())
      fail(value.offset, "a GPU is named twice");
  }

  void set_port(Word value) {
    result_.port = read_number(line_, value, "port", kMaxPort);
    if (result_.port == 0) fail(value.offset, "port must not be 0");
  }

  void set_user(Word value) {
    if (!result_.user.empty())
      fail(value.offset, "user is given twice", "write either user@host or user=NAME, once");
    result_.user = read_user(line_, value);
  }

  /// Reads one address, or a range with one address per name.
  void set_addresses(Word value) {
    if (const std::string address = read_address(value.text); !address.empty()) {
      result_.addresses = {address};
    } else {
      auto expanded = expand_host_ranges(value.text);
      if (const auto* problem = std::get_if<RangeProblem>(&expanded))
        fail(value.offset + problem->offset, problem->message, problem->hint);
      result_.addresses = std::get<std::vector<std::string>>(std::move(expanded));
    }
    for (const std::string& address : result_.addresses)
      if (read_address(address).empty())
        fail(value.offset, fmt::format("{} is not an address", quoted(address)),
             "addr= takes an IPv4 or IPv6 address, for example addr=10.0.0.7");
    if (result_.addresses.size() != result_.names.size())
      fail(value.offset,
           fmt::format("{} address{} for {}", result_.addresses.size(),
                       result_.addresses.size() == 1 ? "" : "es",
                       counted(std::ssize(result_.names), "host")),
           "a range of hosts needs a range of as many addresses, for example addr=10.0.0.[1-16]");
  }

  /// Checks what depends on the whole line.
  void finish() {
    const int gpus = static_cast<int>(result_.gpus.size());
    if (gpus > 0 && result_.slots.value_or(kAutoSlots) == kAutoSlots) result_.slots = gpus;
    if (gpus > 0 && *result_.slots > gpus)
      fail(gpus_at_, fmt::format("{} slots, but only {}", *result_.slots, counted(gpus, "GPU")),
           "a rank uses the GPU of its LOCAL_RANK: list one GPU per slot, or lower slots=");
    if (result_.max_slots && *result_.max_slots < result_.slots.value_or(1))
      fail(max_slots_at_,
           fmt::format("max-slots is less than slots ({})", result_.slots.value_or(1)));
  }

  SourceLine line_;
  HostLine result_;
  std::set<std::string_view> given_;
  std::size_t max_slots_at_ = 0;
  std::size_t gpus_at_ = 0;
};

const std::array<LineReader::Key, 6> LineReader::kKeys = {
    {{"slots cpu count", &LineReader::set_slots, false},
     {"max-slots slots-max max-cpu cpu-max max-count count-max", &LineReader::set_max_slots},
     {"gpus", &LineReader::set_gpus},
     {"port", &LineReader::set_port},
     {"user username user-name", &LineReader::set_user, false},
     {"addr", &LineReader::set_addresses}}};

IncludeLine read_include(const SourceLine& line, std::string_view code,
                         const std::vector<Word>& words) {
  constexpr std::string_view kForm = "for example: include other.hosts, or include \"a file\"";
  IncludeLine include{.path = {}, .offset = words.front().offset};
  const Word path = words[1];
  if (path.text.front() != '"') {
    if (words.size() > 2)
      throw text_error(line, words[2].offset, "more than one file", std::string(kForm));
    include.path = path.text;
    return include;
  }
  const std::size_t closing = code.find('"', path.offset + 1);
  const bool ends_there = closing != std::string_view::npos &&
                          code.find_first_not_of(" \t\r", closing + 1) == std::string_view::npos;
  if (!ends_there || closing == path.offset + 1)
    throw text_error(line, path.offset, "expected one file name in quotes", std::string(kForm));
  include.path = line.text.substr(path.offset + 1, closing - path.offset - 1);
  return include;
}

}  // namespace

std::optional<HostfileLine> parse_host_line(const SourceLine& line, std::string_view code) {
  const std::vector<Word> words = split_words(code);
  if (words.empty()) return std::nullopt;
  // A host may also be named include, if options or nothing follow it.
  const bool is_include =
      words.size() > 1 && words[0].text == "include" &&
      (words[1].text.front() == '"' || (words[1].text.find('=') == std::string_view::npos &&
                                        (words.size() == 2 || words[2].text.front() != '=')));
  if (is_include) return read_include(line, code, words);
  return LineReader(line).read(words);
}

}  // namespace ds::launcher
