#include "launcher/commands/start/wrapped_program.h"

#include <algorithm>
#include <string_view>

#include "engine/base/split.h"

namespace ds::launcher {
namespace {

using CommandLine = std::vector<std::string>;

struct Wrapper {
  std::string_view name;
  std::string_view letters;  // of short options that take a value
  std::string_view names{};  // of long options that may take the next word as their value
  std::size_t operands = 0;  // before the program
};
constexpr Wrapper kWrappers[] = {
    {"env", "uC", " --unset --chdir "},
    {"nice", "n", " --adjustment "},
    {"ionice", "cn", " --class --classdata "},
    {"taskset", "", "", 1},
    {"numactl", "NmiCpPw", " --cpunodebind --membind --interleave --physcpubind --preferred "},
    {"stdbuf", "ioe", " --input --output --error "},
    {"time", "fo", " --format --output "},
    {"timeout", "ks", " --kill-after --signal ", 1},
    {"chrt", "TPD", " --sched-runtime --sched-period --sched-deadline ", 1},
    {"strace", "abeEIoOpPsSuUX"},
    {"nohup", ""},
    {"setsid", ""},
    {"valgrind", ""},
    {"exec", "a"}};  // in a shell
constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ksh", "zsh"};
constexpr int kDepth = 8;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Returns the number of words before the program.
std::size_t words_before(const Wrapper& wrapper, const CommandLine& argv) {
  std::size_t at = 1;
  for (; at < argv.size() && argv[at].starts_with('-'); ++at) {
    const std::string& word = argv[at];
    if (word == "--") {
      ++at;
      break;
    }
    const bool is_long = word.starts_with("--");
    const bool takes_next =
        is_long ? wrapper.names.find(" " + word + " ") != std::string_view::npos
                : word.size() > 1 && word.find_first_of(wrapper.letters, 1) == word.size() - 1;
    if (takes_next) ++at;
  }
  return at + wrapper.operands;
}

/// Returns the words of a shell's only command; none if the text may be more than that.
CommandLine simple_command(std::string_view text) {
  CommandLine words;
  if (text.find_first_of(";&|<>()`\n") != std::string_view::npos) return words;
  for (const std::string_view word : split(text, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

/// Returns the command line behind the first word; none if that is the program.
CommandLine unwrapped(const CommandLine& argv) {
  const std::string_view name = base_name(argv.front());
  if (std::ranges::find(kShells, name) != std::end(kShells))
    return argv.size() > 2 && argv[1] == "-c" ? simple_command(argv[2]) : CommandLine{};
  const auto* const wrapper = std::ranges::find(kWrappers, name, &Wrapper::name);
  if (wrapper == std::end(kWrappers)) return {};
  const std::size_t before = words_before(*wrapper, argv);
  if (before >= argv.size()) return {};
  return {argv.begin() + static_cast<std::ptrdiff_t>(before), argv.end()};
}

/// Drops the assignments before a program, of env and of shells.
void drop_assignments(CommandLine& argv) {
  const auto program = std::ranges::find_if(argv, [](const std::string& word) {
    return word.substr(0, word.find('/')).find('=') == std::string::npos;
  });
  argv.erase(argv.begin(), program);
}

}  // namespace

CommandLine wrapped_command(CommandLine argv) {
  const CommandLine whole = argv;
  for (int depth = 0; depth < kDepth; ++depth) {
    CommandLine inner = unwrapped(argv);
    if (inner.empty()) return argv;
    drop_assignments(inner);
    if (inner.empty()) return whole;
    argv = std::move(inner);
  }
  return whole;
}

}  // namespace ds::launcher
