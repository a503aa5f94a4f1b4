#include "gui/model/scaling_job.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "gui/model/groundwork.h"

namespace headroom::gui {
namespace {

constexpr size_t kMostKept = 16;

bool has(const std::vector<reports::ScalingPoint>& series, const Request& size) {
  return std::any_of(series.begin(), series.end(), [&](const reports::ScalingPoint& point) {
    return point.width_pixels == size.width_pixels && point.height_pixels == size.height_pixels;
  });
}

void append(std::vector<reports::ScalingPoint>& series, const std::vector<reports::ScalingPoint>& more) {
  series.insert(series.end(), more.begin(), more.end());
  std::stable_sort(
      series.begin(), series.end(),
      [](const reports::ScalingPoint& a, const reports::ScalingPoint& b) { return a.pixels() < b.pixels(); });
}

}  // namespace

/// What the thread does. What it shares with that of the GUI is under the mutex.
struct ScalingJob::Worker {
  explicit Worker(ScalingJob& owner) : link(owner), job(&owner) {}

  /// Null: nothing.
  void want(std::optional<ScalingProgress> next, quint64 new_number) {
    const std::lock_guard lock(mutex);
    wanted = std::move(next);
    number = new_number;
    wake.notify_all();
  }

  void run(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex);
      wake.wait(lock, stop, [&] { return wanted.has_value(); });
      if (stop.stop_requested()) return;
      ScalingProgress progress = *std::exchange(wanted, std::nullopt);
      const quint64 own = number;
      lock.unlock();
      const auto go_on = [&] {
        const std::lock_guard now(mutex);
        return number == own && !stop.stop_requested();
      };
      try {
        work(progress, own, go_on);
      } catch (const std::exception& error) {
        progress.failure = QString::fromStdString(error.what());
      }
      progress.complete = true;
      tell(progress, own);
    }
  }

  OwnerLink link;

 private:
  template <typename GoOn>
  void work(ScalingProgress& progress, quint64 own, const GoOn& go_on) {
    const PlanningQuestion& question = progress.question;
    const Model model = model_of(question);
    const planner::CostModel costs = costs_of(question, model.graph);
    const std::vector<Request> sizes =
        reports::size_ladder(model, question.request, progress.most_pixels_across);
    const auto is_known = [&](const Request& size) { return has(progress.scaling.planned, size); };
    progress.sizes = sizes.size();
    progress.done = static_cast<size_t>(std::count_if(sizes.begin(), sizes.end(), is_known));
    if (progress.done > 0 && progress.done < progress.sizes) tell(progress, own);
    for (const Request& size : sizes) {
      if (is_known(size)) continue;
      const reports::Scaling one = reports::scaling(model, {size}, question.options, costs, go_on);
      if (one.planned.empty()) return;
      append(progress.scaling.untiled, one.untiled);
      append(progress.scaling.planned, one.planned);
      progress.scaling.decoder = one.decoder;
      if (++progress.done < progress.sizes) tell(progress, own);
    }
  }

  void tell(const ScalingProgress& progress, quint64 own) {
    link.post([to = job, progress, own] { to->tell(progress, own); });
  }

  ScalingJob* const job;  ///< only where the link posts
  std::mutex mutex;
  std::condition_variable_any wake;
  std::optional<ScalingProgress> wanted;  ///< waits
  quint64 number = 0;
};

ScalingJob::ScalingJob(QObject* parent)
    : QObject(parent),
      worker_(std::make_shared<Worker>(*this)),
      thread_([worker = worker_](const std::stop_token& stop) { worker->run(stop); }) {}

ScalingJob::~ScalingJob() {
  worker_->link.cut();
}

void ScalingJob::start(const PlanningQuestion& question, qint64 most_pixels_across) {
  ScalingProgress progress;
  progress.question = question;
  progress.most_pixels_across = most_pixels_across;
  progress.scaling = known(question);
  worker_->want(std::move(progress), ++number_);
  setBusy(true);
}

void ScalingJob::cancel() {
  worker_->want(std::nullopt, ++number_);
  setBusy(false);
}

void ScalingJob::tell(const ScalingProgress& progress, quint64 number) {
  if (!progress.scaling.planned.empty()) keep(progress);
  if (number != number_) return;
  Q_EMIT progressed(progress);
  if (progress.complete && number == number_) setBusy(false);
}

/// What is known of a question, to go on from.
reports::Scaling ScalingJob::known(const PlanningQuestion& question) const {
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const ScalingProgress& kept) {
    return same_but_limit(kept.question, question);
  });
  return found == kept_.rend() ? reports::Scaling{} : found->scaling;
}

void ScalingJob::keep(const ScalingProgress& progress) {
  std::erase_if(
      kept_, [&](const ScalingProgress& kept) { return same_but_limit(kept.question, progress.question); });
  kept_.push_back(progress);
  if (kept_.size() > kMostKept) kept_.erase(kept_.begin());
}

void ScalingJob::setBusy(bool busy) {
  if (busy_ == busy) return;
  busy_ = busy;
  Q_EMIT busyChanged(busy);
}

}  // namespace headroom::gui
