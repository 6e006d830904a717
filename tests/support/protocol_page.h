// Rows of the tables in docs/protocol.md, and the rows that follow from the code.
#pragma once

#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "support/read_file.h"

namespace ds::test {

/// Returns "TYPE NAME: FIELDS" for each row that begins with a number, of the part of the page from
/// the line `from` to the line `to`.
inline std::vector<std::string> rows_of_page(const std::string& from, const std::string& to) {
  std::vector<std::string> rows;
  std::istringstream page(read_source("docs/protocol.md"));
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(from)) inside = true;
    if (line.starts_with(to)) inside = false;
    if (!inside || !line.starts_with("| ") ||
        std::isdigit(static_cast<unsigned char>(line[2])) == 0)
      continue;
    const std::size_t name = line.find(" | ");
    const std::size_t fields = line.find(" |", name + 3);
    const std::size_t meaning = line.find(" |", fields + 2);
    std::string list = line.substr(fields + 2, meaning - fields - 2);
    if (!list.empty()) list.erase(0, 1);
    rows.push_back(line.substr(2, name - 2) + " " + line.substr(name + 3, fields - name - 3) +
                   ": " + list);
  }
  return rows;
}

/// Returns the lines of a description.
inline std::vector<std::string> rows_of_description(const std::string& description) {
  std::vector<std::string> rows;
  std::istringstream lines(description);
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  return rows;
}

}  // namespace ds::test
