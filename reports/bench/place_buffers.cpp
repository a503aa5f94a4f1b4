#include "reports/bench/place_buffers.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "decoder/base/errors.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/gpu/placement/buffers.h"

namespace headroom::reports {
namespace {

constexpr const char* kHeader = "id,lower,upper,size";
constexpr int64_t kMostNumber = int64_t{1} << 40;

Buffer buffer_of(const std::string& line, const std::string& where) {
  int64_t numbers[4] = {};
  const char *at = line.data(), *end = at + line.size();
  for (int i = 0; i < 4; ++i) {
    const auto [after, error] = std::from_chars(at, end, numbers[i]);
    const bool ends = i == 3 ? after == end : after != end && *after == ',';
    if (error != std::errc{} || !ends || numbers[i] < 0 || numbers[i] > kMostNumber)
      throw InputError(where + ": \"" + line + "\"; expected four whole numbers, " + kHeader);
    at = after + 1;
  }
  const Buffer buffer{numbers[1], numbers[2], numbers[3]};
  if (buffer.begin >= buffer.end || buffer.bytes == 0)
    throw InputError(where + ": \"" + line + "\"; expected lower below upper, and a size above 0");
  return buffer;
}

std::vector<Buffer> read_buffers(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw InputError(file + ": cannot be read");
  std::string line;
  std::getline(stream, line);
  if (line != kHeader) throw InputError(file + ": the first line is \"" + line + "\"; expected " + kHeader);
  std::vector<Buffer> buffers;
  while (std::getline(stream, line))
    buffers.push_back(buffer_of(line, file + ", line " + std::to_string(buffers.size() + 2)));
  return buffers;
}

}  // namespace

int place_buffer_file(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  return guarded("place_buffers", out, err, [&]() -> int {
    std::string file;
    int64_t capacity = 0, visits = 4'000'000'000;
    CLI::App app(
        "Place the buffers of a file by the search that places GPU memory, and say how long it takes.",
        "place_buffers");
    app.add_option("file", file,
                   std::string("CSV of the header ") + kHeader + ", as MiniMalloc's benchmark has")
        ->required();
    app.add_option("capacity", capacity, "bytes in which all buffers are to lie")
        ->required()
        ->check(CLI::Range(int64_t{1}, kMostNumber));
    app.add_option("--visits", visits, "give up after so many visits of buffers")->capture_default_str();
    if (!parse_arguments(app, args, out)) return kDone;
    const std::vector<Buffer> buffers = read_buffers(file);
    const auto begin = std::chrono::steady_clock::now();
    const auto offsets = BufferPlacement(buffers).in(capacity, visits);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (!offsets)
      throw DoesNotFit(file + ": no placement in " + std::to_string(capacity) + " bytes was found; " +
                           std::to_string(most_live_bytes(buffers)) + " are live at one time",
                       0);
    int64_t bytes = 0;
    for (size_t i = 0; i < buffers.size(); ++i) bytes = std::max(bytes, (*offsets)[i] + buffers[i].bytes);
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", seconds.count());
    out << bytes << " bytes of " << capacity << ", " << text << " s\n";
    return kDone;
  });
}

}  // namespace headroom::reports
