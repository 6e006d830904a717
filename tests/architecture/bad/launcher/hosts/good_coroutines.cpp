// Forms of co_await that are fine: if (co_await in_a_comment()) is one of them.
asio::awaitable<void> fine() {
  const auto ready_now = co_await ready();
  if (ready_now) { co_await go(); }
  for (int i = 0; i < 3; ++i) {
    co_await go();
  }
  log("if (co_await x)");
  co_return;
}
asio::awaitable<int> one_line() { co_return co_await value(); }
