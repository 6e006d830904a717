// reseal FILE: replaces the checksum of a changed manifest with a valid one, as if another program
// had written it.
#include <fstream>
#include <iterator>
#include <string>

#include "engine/checkpoint/text_form.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  std::ifstream file(argv[1], std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t seal = text.rfind(ds::kSealBefore);
  if (seal == std::string::npos) return 65;
  text.resize(seal);
  const std::string checksum = ds::checksum_of_text(text);
  std::ofstream(argv[1], std::ios::binary | std::ios::trunc)
      << text << ds::kSealBefore << checksum << ds::kSealAfter;
  return 0;
}
