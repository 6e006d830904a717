// Test vectors of docs/hostfile.md: rows of the table below one heading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

struct Vector {
  std::string input;     // escapes undone
  std::string expected;  // the text between the backticks of the second column
  bool is_error = false;
};

/// Returns the rows below "### heading" up to the next heading. A row not of the form
/// | `input` | `expected` | or | `input` | error `expected` | fails the test.
std::vector<Vector> doc_vectors(std::string_view heading);

}  // namespace ds::test
