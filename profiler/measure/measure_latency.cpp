#include "profiler/measure/measure_latency.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "profiler/measure/clock_drift.h"

namespace headroom {
namespace {

constexpr double kOnceSeconds = 0.3;  // a call this long is measured in one sweep alone
constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr int64_t kLargePositions = 1 << 13;

/// What a call took, and which look at the machine's pace was beside it.
struct Timed {
  double seconds = 0;
  size_t look = 0;
};

/// One kind of call, and how to make one of an extent.
struct Subject {
  Law law;
  std::function<Call(int64_t rows, int64_t columns)> prepare;
  std::vector<std::pair<int64_t, int64_t>> held_out{};
  // What the sweeps found, by point: those of the law, then those held out.
  std::vector<std::vector<Timed>> found{};
};

/// 1, 2, 4, 8 … or with another factor, and the whole.
std::vector<int64_t> knots_up_to(int64_t whole, int64_t first, const std::vector<int64_t>& more) {
  std::vector<int64_t> knots;
  if (first < whole) knots.push_back(first);
  for (int64_t knot : more) {
    if (knot > first && knot * 3 <= whole * 2) knots.push_back(knot);
  }
  knots.push_back(whole);
  return knots;
}

Law empty_law(const std::string& name, const Extent& whole, OpKind kind) {
  Law law;
  law.name = name;
  if (kind == OpKind::attention) {
    law.rows = knots_up_to(whole.y, 16, {64, 256, 1024, 4096, 16384});
    law.columns = knots_up_to(whole.x, 64, {512, 2048, 8192, 32768});
  } else {
    law.rows = knots_up_to(whole.y, 1, {2, 4, 8, 16, 32, 64, 128});
    law.columns = knots_up_to(whole.x, 4, {16, 64, 256, 1024});
  }
  law.seconds.assign(law.rows.size() * law.columns.size(), kUnknown);
  law.workspace_bytes.assign(law.seconds.size(), 0);
  return law;
}

/// Extents between the knots, inside the range.
std::vector<std::pair<int64_t, int64_t>> between(const Law& law) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const auto& [y, x] :
       {std::pair<int64_t, int64_t>{5, 40}, {10, 100}, {20, 34}, {24, 180}, {40, 68}, {90, 200}}) {
    if (y < law.rows.back() && x < law.columns.back()) points.emplace_back(y, x);
  }
  return points;
}

class Measuring {
 public:
  Measuring(const Graph& graph, const std::vector<Extent>& latents, Bench& bench) : bench_(bench) {
    std::map<std::string, size_t> known;
    const auto subject = [&](const std::string& name, const Extent& whole, OpKind kind, auto prepare) {
      if (const auto found = known.find(name); found != known.end()) {
        const Law& before = subjects_[found->second].law;
        const Extent larger{1, std::max(whole.y, before.rows.back()),
                            std::max(whole.x, before.columns.back())};
        subjects_[found->second].law = empty_law(name, larger, kind);
        return;
      }
      known[name] = subjects_.size();
      subjects_.push_back({empty_law(name, whole, kind), prepare});
    };
    for (const Extent& latent : latents) {
      for (const Op& op : graph.ops()) {
        for (ConvolutionForm form : forms_on(bench.device())) {
          const bool same = law_name(graph, op, form) == law_name(graph, op);
          if (form != ConvolutionForm::direct && same) continue;
          subject(law_name(graph, op, form), law_extent(graph, op, latent), op.kind,
                  [this, &op, form](int64_t rows, int64_t columns) {
                    return bench_.operation_call(op, form, rows, columns);
                  });
        }
        // A tile of anything may be copied, one of a result stored, one of a sum added onto what is kept.
        if (graph.tensor(op.output).statistics) continue;
        const Tensor& made = graph.tensor(op.output);
        const Extent whole = extent_of(made, latent);
        for (const char* step : {"gather", "store", "accumulate", "emit"}) {
          if (step[0] == 'a' && op.kind != OpKind::add) continue;
          if (step[0] == 'e' && op.output != graph.output()) continue;
          subject(moving_law_name(step, made.channels), {1, whole.t * whole.y, whole.x},
                  op.kind == OpKind::attention ? OpKind::conv : op.kind,
                  [this, step, channels = made.channels](int64_t rows, int64_t columns) {
                    return bench_.moving_call(step, channels, rows, columns);
                  });
        }
      }
      const Tensor& input = graph.tensor(graph.latent());
      subject(moving_law_name("gather", input.channels), {1, latent.t * latent.y, latent.x}, OpKind::conv,
              [this, channels = input.channels](int64_t rows, int64_t columns) {
                return bench_.moving_call("gather", channels, rows, columns);
              });
    }
    for (Subject& entry : subjects_) {
      entry.held_out = between(entry.law);
      entry.found.resize(entry.law.seconds.size() + entry.held_out.size());
    }
  }

  std::vector<Law> run(int sweeps, const Clock& clock,
                       const std::function<void(double, const std::string&)>& progress) {
    Pace pace(bench_, clock);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (size_t i = 0; i < subjects_.size(); ++i) {
        progress((sweep + double(i) / double(subjects_.size())) / sweeps, subjects_[i].law.name);
        measure(subjects_[i], pace);
      }
    }
    std::vector<Law> laws;
    for (Subject& subject : subjects_) laws.push_back(finished(subject, pace));
    return laws;
  }

  void rehearse() {
    for (const Subject& subject : subjects_) {
      for (size_t i = subject.found.size(); i-- > 0;) {
        if (!is_large(subject.law, i)) prepared(subject, i).run();
      }
    }
  }

 private:
  /// The call of a point: one of the law, or one that is held out.
  static Call prepared(const Subject& subject, size_t point) {
    const Law& law = subject.law;
    const size_t width = law.columns.size(), points = law.seconds.size();
    const auto [rows, columns] = point < points
                                     ? std::pair(law.rows[point / width], law.columns[point % width])
                                     : subject.held_out[point - points];
    return subject.prepare(rows, columns);
  }

  void measure(Subject& subject, Pace& pace) {
    Law& law = subject.law;
    bool first = true;
    // From the largest down: the first call brings all pages in that the others need.
    for (size_t i = law.seconds.size(); i-- > 0;) {
      if (is_large(law, i) || known(subject.found[i])) continue;
      const size_t look = pace.look();
      const Call call = prepared(subject, i);
      if (first) call.run();
      first = false;
      const int64_t before = bench_.live_bytes();
      bench_.start_window();
      subject.found[i].push_back({bench_.seconds(call), look});
      const int64_t beside = bench_.window_peak_bytes() - before - call.result_bytes;
      law.workspace_bytes[i] = std::max({law.workspace_bytes[i], beside, int64_t{0}});
    }
    for (size_t i = law.seconds.size(); i < subject.found.size(); ++i) {
      if (known(subject.found[i])) continue;
      const size_t look = pace.look();
      const Call call = prepared(subject, i);
      subject.found[i].push_back({bench_.seconds(call), look});
    }
  }

  /// True where a call takes so long that one sweep is enough.
  static bool known(const std::vector<Timed>& found) {
    return !found.empty() && found.front().seconds >= kOnceSeconds;
  }

  /// The highest tiles are measured at full width alone; those of fewer columns are to the knot before as
  /// these are.
  static bool is_large(const Law& law, size_t i) {
    const size_t width = law.columns.size();
    return i < law.seconds.size() && law.rows.size() > 2 && i / width + 1 == law.rows.size() &&
           i % width + 1 < width && law.rows.back() * law.columns[i % width] > kLargePositions;
  }

  /// What the sweeps found, as it would have been at the usual pace.
  static double at_usual_pace(const std::vector<Timed>& found, const Pace& pace) {
    std::vector<double> seconds;
    for (const Timed& timed : found) seconds.push_back(timed.seconds / pace.at(timed.look));
    return median(std::move(seconds));
  }

  static Law finished(Subject& subject, const Pace& pace) {
    Law law = std::move(subject.law);
    const size_t width = law.columns.size();
    for (size_t i = 0; i < law.seconds.size(); ++i) {
      if (!subject.found[i].empty()) law.seconds[i] = at_usual_pace(subject.found[i], pace);
    }
    for (size_t i = 0; i < law.seconds.size(); ++i) {
      if (!is_large(law, i)) continue;
      law.seconds[i] =
          law.seconds[i - width] * law.seconds.back() / law.seconds[law.seconds.size() - 1 - width];
      law.workspace_bytes[i] = std::max(law.workspace_bytes[i - width], law.workspace_bytes.back());
    }
    for (double& seconds : law.seconds) seconds = std::max(seconds, 1e-9);
    make_monotone(law);
    std::vector<double> errors;
    for (size_t i = 0; i < subject.held_out.size(); ++i) {
      const auto [rows, columns] = subject.held_out[i];
      errors.push_back(
          std::abs(law.seconds_at(double(rows), double(columns)) /
                       std::max(at_usual_pace(subject.found[law.seconds.size() + i], pace), 1e-9) -
                   1));
    }
    law.held_out_points = static_cast<int64_t>(errors.size());
    if (!errors.empty()) {
      std::sort(errors.begin(), errors.end());
      law.held_out_error = errors[errors.size() / 2];
    }
    return law;
  }

  Bench& bench_;
  std::vector<Subject> subjects_;
};

}  // namespace

std::vector<Law> measure_laws(const Graph& graph, const std::vector<Extent>& latents, Bench& bench,
                              int sweeps, const Clock& clock,
                              const std::function<void(double, const std::string&)>& progress) {
  return Measuring(graph, latents, bench).run(sweeps, clock, progress);
}

void rehearse_laws(const Graph& graph, const std::vector<Extent>& latents, Bench& bench) {
  Measuring(graph, latents, bench).rehearse();
}

}  // namespace headroom
