#include "engine/base/training_facts.h"

#include <map>
#include <utility>

namespace ds {
namespace {

// A control byte would not travel on the rank channel.
constexpr char kEscape = '%';
constexpr std::string_view kLineEnd = "%n";

std::map<std::string, std::string> values_of_facts(std::string_view line) {
  std::map<std::string, std::string> values;
  std::string one;
  const auto take = [&] {
    const std::size_t equals = one.find(" = ");
    if (equals != std::string::npos) values[one.substr(0, equals)] = one.substr(equals + 3);
    one.clear();
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != kEscape) {
      one += line[at];
    } else if (line.substr(at, kLineEnd.size()) == kLineEnd) {
      take();
      ++at;
    } else {
      one += kEscape;
      ++at;
    }
  }
  take();
  return values;
}

}  // namespace

std::string one_line_of_facts(std::string_view lines) {
  std::string line;
  for (const char c : lines) {
    if (c == '\n') {
      line += kLineEnd;
    } else {
      line += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
      if (c == kEscape) line += kEscape;
    }
  }
  return line;
}

std::string fact_value(std::string_view line, std::string_view name) {
  return values_of_facts(line)[std::string(name)];
}

std::vector<FactDifference> fact_differences(std::string_view here, std::string_view there) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (auto& [name, value] : values_of_facts(here)) both[name].first = value;
  for (auto& [name, value] : values_of_facts(there)) both[name].second = value;
  std::vector<FactDifference> differences;
  for (auto& [name, values] : both)
    if (values.first != values.second)
      differences.push_back({name, std::move(values.first), std::move(values.second)});
  return differences;
}

}  // namespace ds
