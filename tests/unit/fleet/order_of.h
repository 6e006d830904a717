// Actions of the policies as orders of a RandomWorld.
#pragma once

#include "launcher/job/job_state.h"
#include "unit/fleet/random_world.h"

namespace ds::launcher {

inline Order order_of(const OpenAgent& a) { return {Order::Kind::open, a.agent, a.host}; }
inline Order order_of(const SendSpec& a) { return {Order::Kind::spec, a.agent, a.node}; }
inline Order order_of(const StopAgent& a) {
  return {Order::Kind::stop, a.agent, static_cast<int>(a.grace.count())};
}
inline Order order_of(const KillAgent& a) { return {Order::Kind::kill, a.agent}; }
inline Order order_of(const SendSweep& a) { return {Order::Kind::sweep, a.agent}; }
inline Order order_of(const CheckHost& a) { return {Order::Kind::check, a.agent}; }
inline Order order_of(const DismissAgent& a) { return {Order::Kind::dismiss, a.agent}; }
inline Order order_of(const CloseAgent& a) { return {Order::Kind::close, a.agent}; }
inline Order order_of(const SuspendSelf&) { return {Order::Kind::suspend_self}; }
inline Order order_of(const FindMaster&) { return {Order::Kind::find_master}; }
inline Order order_of(const SendGo&) { return {Order::Kind::go}; }
inline Order order_of(const FlushOutput&) { return {Order::Kind::flush}; }
inline Order order_of(const Conclude&) { return {Order::Kind::conclude}; }
template <class Action>
Order order_of(const Action&) {
  return {};
}

}  // namespace ds::launcher
