// Any bytes at a job's private socket: messages that encode back to themselves, or the end; and
// what a client makes of them.
#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "launcher/control/job_client.h"
#include "launcher/control/job_output.h"
#include "launcher/control/job_socket.h"

using namespace ds::launcher;

namespace {

Bytes decode_all(std::span<const std::byte> bytes, std::size_t piece, ControlDecoder& decoder) {
  Bytes again;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.feed(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    while (const auto message = decoder.next()) encode_control(*message, again);
  }
  return again;
}

/// A client that shows whatever comes.
void show_all(std::span<const std::byte> bytes) {
  ControlDecoder decoder;
  decoder.feed(bytes);
  OutputBuffer out, err;
  TailView view(4, 3, true);
  while (const auto message = decoder.next()) {
    if (const auto* output = std::get_if<RankOutput>(&*message)) view.output(*output, {out, err});
    if (const auto* gap = std::get_if<Skipped>(&*message)) view.skipped(*gap, {out, err});
    if (std::holds_alternative<Caught>(*message)) view.caught({out, err});
    if (const auto* info = std::get_if<JobInfo>(&*message)) {
      jobs_json({*info}, 1'700'000'000'000);
      const std::string table = jobs_table({*info, *info}, 1'700'000'000'000, 80);
      DS_ASSERT(std::count(table.begin(), table.end(), '\n') == 3, "a row is a line");
    }
  }
  view.finish({out, err});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  ControlDecoder whole;
  const Bytes again = decode_all(bytes, size + 1, whole);
  DS_ASSERT(again.size() <= size, "no message comes from nothing");
  DS_ASSERT(std::equal(again.begin(), again.end(), bytes.begin()), "they come as they were sent");
  ControlDecoder piecewise;
  DS_ASSERT(decode_all(bytes, 7, piecewise) == again, "cuts change nothing");
  DS_ASSERT(piecewise.broken() == whole.broken());
  show_all(bytes);
  return 0;
}
