#include "gui/view/remedy_words.h"

#include <QFileDialog>
#include <QStorageInfo>
#include <algorithm>
#include <cmath>
#include <string_view>

#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

constexpr int64_t kWholeMebibyte = int64_t{1} << 20;
constexpr std::string_view kDtype = "--dtype ";

}  // namespace

QString RemedyWords::name(const std::string& option) {
  if (option.empty()) return tr("A smaller limit alone");
  if (option.starts_with("--weights-residency")) return tr("Load weights pass by pass");
  if (option.starts_with("--scratch")) return tr("Keep tensors in a scratch file…");
  if (option.starts_with("--host-limit")) return tr("Allow more host memory");
  if (option.starts_with(kDtype))
    return tr("Store kept tensors in %1").arg(QString::fromStdString(option.substr(kDtype.size())));
  return QString::fromStdString(option);
}

QString RemedyWords::speed(double seconds, double than_seconds) {
  constexpr double kSame = 0.005;
  const double more = than_seconds > 0 ? seconds / than_seconds - 1 : 0;
  if (std::abs(more) < kSame) return tr("as fast");
  const QString share = figure_text(reports::Unit::share, std::abs(more));
  return (more < 0 ? tr("%1 faster") : tr("%1 slower")).arg(share);
}

std::optional<PlanningQuestion> with_remedy(PlanningQuestion question, const planner::Remedy& remedy,
                                            QWidget* parent) {
  planner::PlanOptions& options = question.options;
  if (remedy.option.starts_with("--weights-residency")) {
    options.weights.reset();
  } else if (remedy.option.starts_with("--scratch")) {
    if (options.scratch_folder.empty()) {
      const QString folder =
          QFileDialog::getExistingDirectory(parent, RemedyWords::tr("Folder for a scratch file"));
      if (folder.isEmpty()) return std::nullopt;
      options.scratch_folder = folder.toStdString();
    }
    options.scratch_limit_bytes =
        QStorageInfo(QString::fromStdString(options.scratch_folder)).bytesAvailable();
  } else if (remedy.option.starts_with("--host-limit")) {
    const int64_t needed = std::max(remedy.needs_bytes.value_or(0), options.host_limit_bytes);
    options.host_limit_bytes = (needed + kWholeMebibyte - 1) / kWholeMebibyte * kWholeMebibyte;
  } else if (remedy.option.starts_with(kDtype)) {
    question.request.dtype = parse_dtype(remedy.option.substr(kDtype.size()));
    question.request.tf32 = {};
  }
  return question;
}

}  // namespace headroom::gui
