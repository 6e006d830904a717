// Reader of a rewritten file: waits for two equal texts in a row.
#include "launcher/sources/stable_file.h"

#include <thread>

namespace ds::launcher {

FileText read_when_stable(const std::function<FileText()>& read,
                          const std::function<void(std::chrono::milliseconds)>& sleep) {
  FileText last = read();
  for (std::chrono::milliseconds spent{0}; last.text && spent < kStableLimit; spent += kStableFor) {
    if (sleep)
      sleep(kStableFor);
    else
      std::this_thread::sleep_for(kStableFor);
    FileText next = read();
    if (!next.text) return next;
    const bool still = *next.text == *last.text;
    if (still && !next.text->empty()) return next;
    last = std::move(next);
  }
  if (last.text && !last.text->empty())
    return {.text = {}, .problem = "it was being rewritten for 10 s"};
  return last;
}

}  // namespace ds::launcher
