#include "tests/air_card/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "tests/air_card/card.h"

namespace headroom::air {
namespace {

constexpr size_t kMostLines = 100;

struct Report {
  std::map<std::string, int64_t> counters{
      {"launches", 0},         {"contexts", 0},        {"convolutions", 0},   {"products", 0},
      {"copies", 0},           {"copied_bytes", 0},    {"copies_to_host", 0}, {"bytes_to_host", 0},
      {"copies_from_host", 0}, {"bytes_from_host", 0}, {"faults", 0},         {"live_bytes", 0},
      {"pinned_bytes", 0},     {"streams", 0},         {"events", 0},         {"descriptors", 0},
      {"handles", 0},          {"mutations", 0},       {"delayed", 0},        {"forced", 0}};
  std::map<std::string, int64_t> kernels;
  std::vector<std::string> waits;
  std::vector<std::string> wrong_uses;
  std::set<std::string> calls_after_error;
};
Report& report() {
  static auto* all = new Report;  // never freed: calls may come during exit
  return *all;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return result + "\"";
}

template <typename Lines>
std::string list(const Lines& lines) {
  std::string result = "[";
  for (const std::string& line : lines) result += (result.size() > 1 ? ", " : "") + quoted(line);
  return result + "]";
}

std::string object(const std::map<std::string, int64_t>& values) {
  std::string result = "{";
  for (const auto& [name, value] : values)
    result += (result.size() > 1 ? ", " : "") + quoted(name) + ": " + std::to_string(value);
  return result + "}";
}

std::string as_json() {
  const Report& all = report();
  std::string text = "{\n";
  for (const auto& [name, value] : all.counters)
    text += "  " + quoted(name) + ": " + std::to_string(value) + ",\n";
  text += "  \"calls\": " + object(calls_by_name()) + ",\n";
  text += "  \"kernels\": " + object(all.kernels) + ",\n";
  text += "  \"waits\": " + list(all.waits) + ",\n";
  text += "  \"wrong_uses\": " + list(all.wrong_uses) + ",\n";
  text += "  \"calls_after_error\": " + list(all.calls_after_error) + "\n}\n";
  return text;
}

__attribute__((destructor)) void write_report() {
  const std::string path = setting("AIR_REPORT");
  if (path.empty()) return;
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    std::fputs(as_json().c_str(), file);
    std::fclose(file);
  }
}

}  // namespace

void count(const char* counter, int64_t by) {
  report().counters[counter] += by;
}

void change(const char* counter, int64_t by) {
  auto& counters = report().counters;
  const int64_t now = counters[counter] += by;
  int64_t& peak = counters[std::string("peak_") + counter];
  peak = std::max(peak, now);
}

void wrong_use(const std::string& text) {
  if (!setting("AIR_LOG").empty()) std::fprintf(stderr, "[air] %s\n", text.c_str());
  std::vector<std::string>& all = report().wrong_uses;
  if (all.size() < kMostLines) all.push_back(text);
}

void note_call_after_error(const std::string& call) {
  report().calls_after_error.insert(call);
}
void note_wait(int64_t stream, int64_t on, bool covered) {
  report().waits.push_back(std::to_string(stream) + "<-" + std::to_string(on) + (covered ? " covered" : ""));
}
void note_kernel(const std::string& name) {
  ++report().kernels[name];
}

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}
int64_t number_setting(const char* name, int64_t otherwise) {
  const std::string text = setting(name);
  return text.empty() ? otherwise : std::stoll(text);
}

std::recursive_mutex& mutex() {
  static auto* one = new std::recursive_mutex;
  return *one;
}

/// The report so far, for a process that keeps running. Valid until the next call.
AIR_API const char* air_card_report() {
  const std::lock_guard lock(mutex());
  static auto* text = new std::string;
  *text = as_json();
  return text->c_str();
}

}  // namespace headroom::air
