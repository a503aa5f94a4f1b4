#include <cstdio>
#include <ostream>

#include "decoder/outputs/whole_file.h"
#include "decoder/trace/exports.h"

namespace headroom {

void write_trace_csv(const std::filesystem::path& file, const Trace& trace, const Graph& graph) {
  write_file_whole(file, [&](std::ostream& out) {
    out << "seconds,kind,layer,pass,tile,bytes";
    for (size_t kind = 0; kind < kEventKinds; ++kind)
      out << "," << key_of(static_cast<MemoryKind>(kind)) << "_bytes";
    out << ",all_bytes\n";
    KindBytes live{};
    for (const TraceEvent& event : trace.events) {
      apply(event, live);
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%.6f", event.seconds);
      // Layers have no commas or quotation marks in their names.
      out << seconds << "," << key_of(event.kind) << ","
          << (event.layer == TensorId{-1} ? "" : graph.tensor(event.layer).name) << ",";
      if (event.pass >= 0) out << event.pass;
      out << ",";
      if (event.tile >= 0) out << event.tile;
      out << "," << event.bytes;
      int64_t all = 0;
      for (int64_t bytes : live) {
        out << "," << bytes;
        all += bytes;
      }
      out << "," << all << "\n";
    }
  });
}

}  // namespace headroom
