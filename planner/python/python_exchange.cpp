#include "planner/python/python_exchange.h"

#include <string>
#include <utility>

namespace headroom::python {
namespace {

namespace nb = nanobind;

std::string one_line(const nb::python_error& error) {
  const std::string text = nb::cast<std::string>(nb::str(error.value()));
  const std::string name = nb::cast<std::string>(error.type().attr("__name__"));
  return text.empty() ? name : text.substr(0, text.find('\n'));
}

template <typename F>
auto asked(const F& f) {
  const nb::gil_scoped_acquire gil;
  try {
    return f();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    throw ExchangeError(one_line(error));
  }
}

/// Where nobody could do anything about what is raised.
template <typename F>
void tell(const F& f) noexcept {
  const nb::gil_scoped_acquire gil;
  try {
    f();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("headroom: telling other ranks of an error");
  }
}

uintptr_t address_of(const void* data) {
  return reinterpret_cast<uintptr_t>(data);
}

/// [(peer, [(address, bytes), …]), …]
nb::list in_python(const std::vector<Message>& messages) {
  nb::list all;
  for (const Message& message : messages) {
    nb::list spans;
    for (const Span& span : message.spans) spans.append(nb::make_tuple(address_of(span.data), span.bytes));
    all.append(nb::make_tuple(message.peer, spans));
  }
  return all;
}

std::vector<Exchange::Ticket> tickets_of(const nb::handle& tickets) {
  std::vector<Exchange::Ticket> all;
  for (const nb::handle ticket : tickets) all.push_back(nb::cast<Exchange::Ticket>(ticket));
  return all;
}

}  // namespace

PythonExchange::PythonExchange(nb::object ranks)
    : ranks_(std::move(ranks)),
      rank_(nb::cast<int32_t>(ranks_.attr("rank"))),
      size_(nb::cast<int32_t>(ranks_.attr("size"))) {}

PythonExchange::~PythonExchange() {
  const nb::gil_scoped_acquire gil;
  ranks_.reset();
}

Exchange::Posted PythonExchange::post(const std::vector<Message>& sends,
                                      const std::vector<Message>& receives) {
  for (const Message& message : sends) count_sent(bytes_of(message));
  return asked([&] {
    const nb::object posted = ranks_.attr("post")(in_python(sends), in_python(receives));
    return Posted{tickets_of(posted[0]), tickets_of(posted[1])};
  });
}

void PythonExchange::wait(Ticket ticket) {
  asked([&] { ranks_.attr("wait")(ticket); });
}

std::vector<std::vector<double>> PythonExchange::gather(const std::vector<double>& own) {
  const auto ranks = static_cast<size_t>(size_);
  std::vector<double> all(ranks * own.size());
  count_sent(static_cast<int64_t>((ranks - 1) * own.size() * sizeof(double)));
  asked([&] { ranks_.attr("gather")(address_of(own.data()), address_of(all.data()), own.size()); });
  std::vector<std::vector<double>> by_rank;
  for (auto begin = all.begin(); by_rank.size() < ranks; begin += static_cast<std::ptrdiff_t>(own.size()))
    by_rank.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(own.size()));
  return by_rank;
}

void PythonExchange::abandon(const char* why) noexcept {
  tell([&] { ranks_.attr("abandon")(why); });
}

void PythonExchange::drop() noexcept {
  tell([&] { ranks_.attr("drop")(); });
}

}  // namespace headroom::python
