// Reader of the test vectors in docs/hostfile.md.
#include "unit/hosts/doc_vectors.h"

#include <doctest/doctest.h>

#include <regex>
#include <sstream>

#include "support/read_file.h"

namespace ds::test {
namespace {

std::string undo_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    const char c = text[++i];
    plain += c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
  }
  return plain;
}

}  // namespace

std::vector<Vector> doc_vectors(std::string_view heading) {
  std::istringstream lines(read_source("docs/hostfile.md"));
  const std::regex row_form(R"(\| `(.*)` \| (error )?`(.*)` \|)");
  std::vector<Vector> rows;
  bool inside = false;
  int header_lines = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) inside = line == "### " + std::string(heading);
    if (!inside || !line.starts_with("|") || ++header_lines <= 2) continue;
    std::smatch match;
    REQUIRE_MESSAGE(std::regex_match(line, match, row_form), line);
    rows.push_back({undo_escapes(match[1]), match[3], match[2].matched});
  }
  return rows;
}

}  // namespace ds::test
