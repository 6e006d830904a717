// Records: one list of fields serves both directions, as with frames.
#include "launcher/join/join_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "launcher/wire/fields.h"

namespace ds::launcher {
namespace {

// The type byte of each record, in the order of JoinRecord. Numbers are never used again.
constexpr std::uint8_t kTypes[] = {1, 2, 16, 17, 18, 19, 20, 32, 33, 34};
static_assert(std::size(kTypes) == std::variant_size_v<JoinRecord>);
constexpr std::size_t kHeaderBytes = 5;

template <class A>
void fields(A& a, JoinHello& m) {
  a(m.version), a(m.job), a(m.place), a(m.uid), a(m.started), a(m.next_epoch);
  ds::launcher::fields(a, m.node);
}
template <class A>
void fields(A& a, JoinLeaving& m) {
  a(m.signo);
}
template <class A>
void fields(A& a, JoinWelcome& m) {
  a(m.root);
}
template <class A>
void fields(A& a, JoinRefused& m) {
  a(m.final), a(m.code), a(m.text);
}
template <class A>
void fields(A& a, StartAgent& m) {
  a(m.session);
}
template <class A>
void fields(A& a, JoinNews& m) {
  a(m.text);
}
template <class A>
void fields(A& a, JoinOver& m) {
  a(m.code), a(m.report);
}
template <class A>
void fields(A& a, AgentBytes& m) {
  a(m.session), a(m.bytes);
}
template <class A>
void fields(A& a, AgentClosed& m) {
  a(m.session), a(m.problem);
}
template <class A>
void fields(A&, JoinPing&) {}

template <std::size_t I = 0>
std::optional<JoinRecord> empty_record(std::uint8_t type) {
  if constexpr (I == std::variant_size_v<JoinRecord>) {
    return std::nullopt;
  } else {
    if (kTypes[I] == type) return JoinRecord(std::in_place_index<I>);
    return empty_record<I + 1>(type);
  }
}

}  // namespace

bool operator==(const AgentBytes& a, const AgentBytes& b) {
  return a.session == b.session &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

Bytes encode_join(const JoinRecord& record) {
  Bytes payload;
  FieldWriter writer(payload);
  std::visit([&](auto copy) { fields(writer, copy); }, record);
  DS_ASSERT(payload.size() < kMaxJoinRecordBytes, "callers cut long byte runs");
  Bytes bytes;
  bytes.reserve(kHeaderBytes + payload.size());
  FieldWriter head(bytes);
  head(static_cast<std::uint32_t>(payload.size() + 1));
  head(kTypes[record.index()]);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

void JoinDecoder::feed(std::span<const std::byte> bytes) {
  if (error_) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<JoinRecord> JoinDecoder::next() {
  if (error_) return std::nullopt;
  const std::span<const std::byte> rest = std::span(buffer_).subspan(at_);
  if (rest.size() < kHeaderBytes) return std::nullopt;
  FieldReader head(rest.first(kHeaderBytes));
  std::uint32_t length = 0;
  std::uint8_t type = 0;
  head(length), head(type);
  if (length == 0 || length > kMaxJoinRecordBytes) {
    error_ = fmt::format("a record of {} bytes, at most {}", length, kMaxJoinRecordBytes);
    return std::nullopt;
  }
  std::optional<JoinRecord> record = empty_record(type);
  if (!record) {
    error_ = fmt::format("a record of unknown type {}: the builds differ", type);
    return std::nullopt;
  }
  const std::size_t size = sizeof(std::uint32_t) + length;
  if (rest.size() < size) return std::nullopt;
  FieldReader body(rest.subspan(kHeaderBytes, length - 1));
  std::visit([&](auto& m) { fields(body, m); }, *record);
  if (!body.complete()) {
    error_ = fmt::format("a broken record of type {}, {} bytes", type, length);
    return std::nullopt;
  }
  at_ += size;
  return record;
}

}  // namespace ds::launcher
