#include "launcher/join/join_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/hosts/host_word.h"
#include "launcher/wire/fields.h"

namespace ds::launcher {

template <class A>
void fields(A& a, JoinHello& m) {
  a("version", m.version), a("job", m.job), a("place", m.place), a("uid", m.uid),
      a("started", m.started), a("next_epoch", m.next_epoch);
  a("node", m.node);
}
template <class A>
void fields(A& a, JoinLeaving& m) {
  a("signo", m.signo);
}
template <class A>
void fields(A& a, JoinWelcome& m) {
  a("root", m.root);
}
template <class A>
void fields(A& a, JoinRefused& m) {
  a("final", m.final), a("code", m.code), a("text", m.text);
}
template <class A>
void fields(A& a, StartAgent& m) {
  a("session", m.session);
}
template <class A>
void fields(A& a, JoinNews& m) {
  a("text", m.text);
}
template <class A>
void fields(A& a, JoinOver& m) {
  a("code", m.code), a("report", m.report);
}
template <class A>
void fields(A& a, AgentBytes& m) {
  a("session", m.session), a("bytes", m.bytes);
}
template <class A>
void fields(A& a, AgentClosed& m) {
  a("session", m.session), a("problem", m.problem);
}
template <class A>
void fields(A&, JoinPing&) {}

namespace {

struct RecordType {
  std::uint8_t number;
  const char* name;
};
// In the order of JoinRecord. Numbers of removed records are not reused.
constexpr RecordType kTypes[] = {{1, "JoinHello"},    {2, "JoinLeaving"}, {16, "JoinWelcome"},
                                 {17, "JoinRefused"}, {18, "StartAgent"}, {19, "JoinNews"},
                                 {20, "JoinOver"},    {32, "AgentBytes"}, {33, "AgentClosed"},
                                 {34, "JoinPing"}};
static_assert(std::size(kTypes) == std::variant_size_v<JoinRecord>);
constexpr std::size_t kHeaderBytes = 5;

template <std::size_t I = 0>
std::optional<JoinRecord> empty_record(std::uint8_t type) {
  if constexpr (I == std::variant_size_v<JoinRecord>) {
    return std::nullopt;
  } else {
    if (kTypes[I].number == type) return JoinRecord(std::in_place_index<I>);
    return empty_record<I + 1>(type);
  }
}

template <std::size_t I = 0>
std::string describe() {
  if constexpr (I == std::variant_size_v<JoinRecord>) {
    return {};
  } else {
    return fmt::format("{} {}: {}\n", kTypes[I].number, kTypes[I].name,
                       field_list<std::variant_alternative_t<I, JoinRecord>>()) +
           describe<I + 1>();
  }
}

/// Reads the fields of a record; returns false if they do not fill it exactly.
template <class T>
bool read_record(FieldReader& body, T& record) {
  fields(body, record);
  return body.complete();
}

/// Reads a JoinHello. With another version, only the fields up to `place` are read; every version
/// begins with them.
bool read_record(FieldReader& body, JoinHello& hello) {
  FieldReader whole = body;
  body(hello.version), body(hello.job), body(hello.place);
  if (hello.version != kJoinVersion) return body.good();
  fields(whole, hello);
  return whole.complete();
}

JoinRefused final_refusal(int code, std::string text) { return {true, code, std::move(text)}; }

std::string two_nodes(const JoinHello& hello, const std::string& address, const JoinedNode& other) {
  return fmt::format("two nodes say that they are {}: {} at {} ({}) and {} at {} ({})", hello.place,
                     hello.node.hostname, address, hello.uid, other.hello.node.hostname,
                     other.address, other.hello.uid);
}

std::string names_of(const std::vector<std::string>& places) {
  if (places.size() == 1) return places.front();
  return places.front() + " to " + places.back();
}

bool is_place(const JoinTerms& terms, const std::string& name) {
  return std::ranges::count(terms.places, name) > 0;
}

/// Returns the refusal of a node that has the name of the root's own node.
JoinRefused clash_with_root(const JoinHello& hello, const JoinTerms& terms) {
  const char* what =
      terms.open ? "the name of the root itself; give each node a name of its own: --node-name NAME"
                 : "the place of the root itself; give each node an index of its own: --node-rank";
  return final_refusal(contract::kExitConfig, fmt::format("{} is {}", hello.place, what));
}

/// Returns whether a node was started by the job itself, in a job that guests may join too. The job
/// names itself to its own nodes; guests have only the key.
bool is_own_node(const JoinHello& hello, const JoinTerms& terms) {
  return terms.open && hello.job == terms.job && is_place(terms, hello.place);
}

JoinRefused guest_with_own_name(const JoinHello& hello) {
  return final_refusal(contract::kExitConfig,
                       fmt::format("{} is a node of the job's own allocation, and its agent is "
                                   "connected; give the node of another allocation another name: "
                                   "--node-name NAME",
                                   hello.place));
}

std::optional<JoinRefused> misfit(const JoinHello& hello, const JoinTerms& terms) {
  if (hello.version != kJoinVersion)
    return final_refusal(
        contract::kExitUnreachable,
        fmt::format("{}: incompatible dslaunch there (join protocol {:x}, the root "
                    "speaks {:x}); install the same build on all nodes",
                    hello.place, hello.version, kJoinVersion));
  if (hello.job != terms.job &&
      !(terms.open && hello.job.empty()))  // not final: the lookup may have returned an old address
    return JoinRefused{false, contract::kExitUnreachable,
                       fmt::format("this is the root of job {}, and {} belongs to job {}",
                                   terms.job, hello.place, hello.job)};
  if (!hello.place.empty() && hello.place == terms.own_place) return clash_with_root(hello, terms);
  if (terms.open && may_be_host_name(hello.place)) return std::nullopt;
  if (!is_place(terms, hello.place))
    return final_refusal(contract::kExitConfig,
                         fmt::format("{} is not a place of job {}, which has {} ({})", hello.place,
                                     terms.job, terms.places.size(), names_of(terms.places)));
  return std::nullopt;
}

}  // namespace

const std::uint32_t kJoinVersion = version_of(describe_join());

std::string describe_join() { return describe(); }

Bytes encode_join(const JoinRecord& record) {
  Bytes payload;
  FieldWriter writer(payload);
  std::visit([&](auto copy) { fields(writer, copy); }, record);
  DS_ASSERT(payload.size() < kMaxJoinRecordBytes, "callers cut long byte runs");
  Bytes bytes;
  bytes.reserve(kHeaderBytes + payload.size());
  FieldWriter head(bytes);
  head(static_cast<std::uint32_t>(payload.size() + 1));
  head(kTypes[record.index()].number);
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
  if (!std::visit([&](auto& m) { return read_record(body, m); }, *record)) {
    error_ = fmt::format("a broken record of type {}, {} bytes", type, length);
    return std::nullopt;
  }
  at_ += size;
  return record;
}

JoinJudgement judge_join(const JoinHello& hello, const std::string& address, const JoinTerms& terms,
                         const std::optional<JoinedNode>& present) {
  JoinJudgement judgement;
  judgement.refusal = misfit(hello, terms);
  if (judgement.refusal) {
    judgement.say = fmt::format("a node at {} was refused: {}", address, judgement.refusal->text);
    return judgement;
  }
  if (!present || present->hello.uid == hello.uid) return judgement;
  const std::string text = two_nodes(hello, address, *present);
  const bool is_own = is_own_node(hello, terms);
  if (is_own_node(present->hello, terms) && !is_own && !terms.present_is_silent) {
    judgement.refusal = guest_with_own_name(hello);
    judgement.say = text + "; the node of another allocation is refused";
    return judgement;
  }
  const bool older_gives_way = terms.present_is_silent || hello.started >= present->hello.started;
  const bool guest_gives_way = is_own && !is_own_node(present->hello, terms);
  const char* who = terms.present_is_silent ? "; the old one is silent and gives way"
                    : guest_gives_way       ? "; the one of the job's own allocation stays"
                                            : "; the newer one stays";
  (older_gives_way || guest_gives_way ? judgement.fence : judgement.refusal) =
      final_refusal(contract::kExitUnreachable, text + who);
  judgement.say = text + who;
  return judgement;
}

}  // namespace ds::launcher
