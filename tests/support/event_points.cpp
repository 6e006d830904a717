// Prints the points of event files: TAG STEP VALUE, after what a START has purged.
//
//   event_points FOLDER      reads all event files of the folder in the order of their names;
//                            exit code 1: a broken record, 2: no event file
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/event_records.h"

int main(int count, char** words) {
  if (count != 2) return 64;
  std::vector<std::string> paths;
  std::error_code status;
  for (const auto& entry : std::filesystem::directory_iterator(words[1], status))
    if (entry.path().filename().string().find("tfevents") != std::string::npos)
      paths.push_back(entry.path());
  if (paths.empty()) return 2;
  std::ranges::sort(paths);
  ds::test::EventFacts facts;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    ds::test::read_events(std::string{std::istreambuf_iterator<char>(file), {}}, facts);
    if (!facts.is_sound) return 1;
  }
  for (const auto& [tag, points] : facts.points)
    for (const auto& [step, value] : points) fmt::print("{} {} {}\n", tag, step, value);
  return 0;
}
