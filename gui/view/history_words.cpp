#include "gui/view/history_words.h"

#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/history_page.h"
#include "reports/figures/history.h"

namespace headroom::gui {
namespace {

using profiler::DeviceHistory;

QString memory_text(int64_t bytes) {
  return figure_text(reports::Unit::bytes, double(bytes));
}

QString when_text(const DeviceHistory& device, size_t moment) {
  if (device.seconds.empty()) return HistoryPage::tr("at record %1").arg(moment);
  return HistoryPage::tr("after %1").arg(figure_text(reports::Unit::seconds, device.seconds[moment]));
}

QString peak_words(const DeviceHistory& device) {
  const size_t peak = device.peak();
  const int64_t allocated = device.allocated_bytes[peak];
  const QString name = QString::fromStdString(device.device), at = when_text(device, peak);
  if (device.reserved_bytes.empty())
    return HistoryPage::tr("Peak on %1, %2: %3 allocated.").arg(name, at, memory_text(allocated));
  const int64_t reserved = device.reserved_bytes[peak];
  return HistoryPage::tr("Peak on %1, %2: %3 allocated of %4 reserved, so %5 of allocator slack.")
      .arg(name, at, memory_text(allocated), memory_text(reserved), memory_text(reserved - allocated));
}

QString last_words(const profiler::MemoryHistory& history, const DeviceHistory& device) {
  const std::optional<reports::LastRequest> last = reports::last_request(device);
  if (!last) return {};
  QString who = QString::fromStdString(reports::asked_by(history, last->stack));
  if (who.isEmpty()) who = HistoryPage::tr("something that recorded no stack");
  const QString at = when_text(device, last->moment), bytes = memory_text(last->bytes);
  if (!last->refused)
    return HistoryPage::tr("Nothing was refused. The last to ask, %1, was %2 for %3.").arg(at, who, bytes);
  QString text = HistoryPage::tr("Out of memory %1: %2 asked for %3 with %4 allocated.")
                     .arg(at, who, bytes, memory_text(device.allocated_bytes[last->moment]));
  if (last->free_bytes && !device.reserved_bytes.empty()) {
    text += QLatin1Char(' ') +
            HistoryPage::tr("%1 were reserved and %2 free on the device.")
                .arg(memory_text(device.reserved_bytes[last->moment]), memory_text(*last->free_bytes));
  }
  return text;
}

QString fragmentation_words(const DeviceHistory& device) {
  const size_t moment = device.refusals.empty() ? device.peak() : device.asked_last();
  const std::optional<profiler::Fragmentation> lost = fragmentation_at(device, moment);
  if (!lost) return {};
  return HistoryPage::tr(
             "Fragmentation then: %1 free beside tensors in their segments, %2 in empty segments; the "
             "largest free block was %3. Rounding took %4.")
      .arg(memory_text(lost->inactive_split_bytes), memory_text(lost->releasable_bytes),
           memory_text(lost->largest_free_bytes), memory_text(lost->rounding_bytes));
}

QString missing_words(const DeviceHistory& device) {
  const std::optional<int64_t> missing = reports::missing_bytes(device);
  if (!missing) return {};
  if (*missing == 0) return HistoryPage::tr("Enough was free in all, but not together.");
  return HistoryPage::tr("%1 were missing even if all that was free had lain together.")
      .arg(memory_text(*missing));
}

}  // namespace

QStringList history_words(const profiler::MemoryHistory& history, const DeviceHistory& device) {
  QStringList words{peak_words(device), last_words(history, device), fragmentation_words(device),
                    missing_words(device)};
  if (device.moments() > 1 && device.allocated_bytes[0] > 0)
    words << HistoryPage::tr("%1 were allocated before the recording began.")
                 .arg(memory_text(device.allocated_bytes[0]));
  words.removeAll(QString());
  return words;
}

QString moment_words(const DeviceHistory& device, size_t moment) {
  return HistoryPage::tr("Live %1: %2")
      .arg(when_text(device, moment), memory_text(device.allocated_bytes[moment]));
}

QStringList need_words(const reports::DecoderNeed& need, const DeviceHistory& device) {
  QStringList words{
      HistoryPage::tr(
          "For %1 %2×%3 in %4 on %5 Headroom needs at least %6, weights included; untiled it takes "
          "%7. The recording's peak is %8.")
          .arg(QString::fromStdString(need.request.model), QString::number(need.request.width_pixels),
               QString::number(need.request.height_pixels), QString::fromLatin1(name_of(need.request.dtype)),
               QString::fromLatin1(name_of(need.request.device)), memory_text(need.smallest_bytes),
               memory_text(need.untiled_bytes), memory_text(device.allocated_bytes[device.peak()]))};
  const std::optional<int64_t> had = reports::available_bytes(device);
  if (!had) return words;
  const auto fits = std::find_if(need.points.begin(), need.points.end(),
                                 [&](const auto& point) { return point.peak_bytes <= *had; });
  if (fits == need.points.end()) {
    words << HistoryPage::tr("That is more than the %1 that PyTorch had when it ran out.")
                 .arg(memory_text(*had));
  } else {
    words << HistoryPage::tr(
                 "Within the %1 that PyTorch had when it ran out it takes %2, with a peak of %3. What "
                 "else the process holds must fit beside it.")
                 .arg(memory_text(*had), figure_text(reports::Unit::seconds, fits->seconds),
                      memory_text(fits->peak_bytes));
  }
  return words;
}

}  // namespace headroom::gui
