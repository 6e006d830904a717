// Every form of co_await that g++ 12 miscompiles.
asio::awaitable<void> conditions() {
  if (co_await ready()) go();
  while (
      co_await more()) go();
}
asio::awaitable<void> braces() {
  const Result result{.value = co_await value()};
  take(Result{co_await value()});
  co_await send({.text = std::string()});
}
auto lambda = [this](int x) -> asio::awaitable<void> { co_return; };
