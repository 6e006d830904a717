// Any bytes as what a name server sends, and as resolv.conf, hosts file and nsswitch.conf: every
// reading ends, and what comes out keeps its promises.
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "launcher/dns/candidate_names.h"
#include "launcher/dns/dns_packet.h"
#include "launcher/dns/hosts_file.h"
#include "launcher/dns/lookup_state.h"
#include "launcher/dns/resolv_conf.h"

using namespace ds::launcher;

namespace {

bool is_printable(const std::string& text) {
  for (const char c : text)
    if (c <= ' ' || c > '~') return false;
  return true;
}

void check_answer(const DnsReply& reply, const DnsQuestion& question) {
  const DnsAnswer answer = answer_of(reply, question);
  DS_ASSERT(answer.addresses.size() <= reply.answers.size());
  for (const auto& address : answer.addresses)
    DS_ASSERT(address.size() == (question.type == RecordType::a ? 4 : 16));
  DS_ASSERT(is_printable(answer.alias), "it is shown to people");
}

/// The reply as the answer to a look's first query, whatever it was meant for.
void check_look(const DnsReply& reply) {
  const ds::Clock::time_point now{};
  LookupState state({.candidates = {"a.b", "c"}, .servers = {"10.0.0.1"}}, now);
  for (int i = 0; i < 64 && !state.end(); ++i) {
    for (const LookupQuery& query : state.take_queries()) state.on_reply(query.number, reply, now);
  }
  for (int i = 0; i < 8 && !state.end(); ++i) state.on_time(state.wake_at());
  DS_ASSERT(state.end(), "a look ends by its limit");
  DS_ASSERT(state.end()->addresses.empty() == (state.end()->problem != DnsProblem::none));
  DS_ASSERT(state.end()->addresses.empty() == !state.end()->text.empty());
}

void check_message(std::span<const std::byte> bytes) {
  const std::optional<DnsReply> reply = decode_reply(bytes);
  if (!reply) return;
  for (const DnsRecord& record : reply->answers) {
    DS_ASSERT(is_printable(record.name) && is_printable(record.target));
    DS_ASSERT(record.ttl <= 0x7FFFFFFF);
    check_answer(*reply, {record.name, RecordType::a});
    check_answer(*reply, {record.name, RecordType::aaaa});
  }
  if (reply->question) check_answer(*reply, *reply->question);
  if (reply->question && is_dns_name(reply->question->name)) {
    const auto again = encode_question(reply->id, *reply->question);
    DS_ASSERT(again.size() <= 512);
  }
  check_look(*reply);
}

void check_files(std::string_view text) {
  const ResolvConf conf = parse_resolv_conf(text);
  DS_ASSERT(conf.servers.size() <= 3 && conf.ndots >= 0 && conf.ndots <= 15);
  DS_ASSERT(conf.timeout >= 1 && conf.timeout <= 30 && conf.attempts >= 1 && conf.attempts <= 5);
  std::string written;
  for (const std::string& server : conf.servers) written += "nameserver " + server + "\n";
  if (!conf.search.empty()) written += "search";
  for (const std::string& domain : conf.search) written += " " + domain;
  const ResolvConf again = parse_resolv_conf(written);
  DS_ASSERT(again.servers == conf.servers && again.search == conf.search);
  for (const std::string_view name : {std::string_view("gpt-0.gpt"), text}) {
    const auto names = candidate_names(name, conf.search, conf.ndots);
    DS_ASSERT(names.size() <= kMaxCandidates);
    for (const std::string& candidate : names) DS_ASSERT(is_dns_name(candidate));
  }
  (void)find_in_hosts_file(text, "localhost");
  (void)has_further_sources(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_message(std::as_bytes(std::span(data, size)));
  check_files(text);
  return 0;
}
