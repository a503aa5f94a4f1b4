#include "gui/model/pass_tree.h"

#include <QFont>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/model/figure_text.h"
#include "gui/model/plain_tooltip.h"
#include "planner/explain/explain.h"

namespace headroom::gui {
namespace {

using nlohmann::json;

QString text_of(const json& value) {
  return figure_text(value.get<std::string>());
}

QString bytes_of(const json& value) {
  return figure_text(reports::Unit::bytes, value.get<double>());
}

bool is_on_device(const json& entry) {
  return entry["tier"] == name_of(MemoryTier::device);
}

QString read_line(const json& read) {
  QString line = PassTree::tr("read %1").arg(text_of(read["tensor"]));
  if (!is_on_device(read)) {
    line += PassTree::tr(" from %1, %2 at a time").arg(text_of(read["tier"]), bytes_of(read["window_bytes"]));
  }
  return read.value("last_time", false) ? PassTree::tr("%1 (for the last time)").arg(line) : line;
}

QString keep_line(const json& keep) {
  QString line = PassTree::tr("keep %1, %2").arg(text_of(keep["tensor"]), bytes_of(keep["bytes"]));
  if (is_on_device(keep)) {
    line += PassTree::tr(" on the device");
  } else {
    line += PassTree::tr(" in %1, at most %2 of it on the device")
                .arg(text_of(keep["tier"]), bytes_of(keep["window_bytes"]));
  }
  if (keep.contains("rows")) line += PassTree::tr(", above row %1").arg(keep["rows"][1].get<int>());
  line += PassTree::tr(", until pass %1").arg(keep["last_pass"].get<int>());
  if (keep.contains("in_place_of"))
    line += PassTree::tr(", in place of %1").arg(text_of(keep["in_place_of"]));
  return line;
}

QStringList lines_of(const json& explained, const Pass& pass, const Graph& graph) {
  QStringList lines;
  QString weights = PassTree::tr("weights %1").arg(bytes_of(explained["weights_bytes"]));
  if (pass.convolutions.algorithm == ConvolutionAlgorithm::winograd)
    weights += PassTree::tr(", kernels in Winograd form");
  if (!pass.convolutions.direct.empty())
    weights += PassTree::tr(", but for %1").arg(QString::fromStdString(planner::direct_names(pass, graph)));
  lines << weights;
  for (const json& read : explained["reads"]) lines << read_line(read);
  for (const Step& step : pass.steps)
    lines << with_short_names(QString::fromStdString(planner::step_text(step, graph)));
  for (const json& keep : explained["keeps"]) lines << keep_line(keep);
  return lines;
}

}  // namespace

void PassTree::setPlan(const reports::DocumentPtr& document) {
  beginResetModel();
  passes_.clear();
  marked_.clear();
  if (document != nullptr) {
    const auto& [plan, model, found] = *document->as<reports::PlanDocument>();
    const json explained = planner::explain_json(plan, model);
    const auto decides = std::max_element(
        plan.passes.begin(), plan.passes.end(),
        [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const Pass& pass = plan.passes[i];
      passes_.push_back({QString("%1  %2").arg(i).arg(figure_text(pass.name)),
                         QString("%1  %2").arg(i).arg(QString::fromStdString(pass.name)),
                         figure_text(reports::Unit::bytes, double(pass.predicted_peak_bytes)),
                         figure_text(reports::Unit::seconds, pass.predicted_seconds),
                         lines_of(explained["passes"][i], pass, model.graph), &pass == &*decides});
    }
  }
  endResetModel();
}

void PassTree::setMarked(std::vector<int32_t> passes) {
  marked_ = std::move(passes);
  if (!passes_.empty())
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1),
                       {Qt::FontRole, Qt::DisplayRole});
}

// A pass has the id 0; what is below it has the number of its pass plus one.

int PassTree::pass_of(const QModelIndex& index) {
  if (!index.isValid()) return -1;
  return index.internalId() == 0 ? index.row() : static_cast<int>(index.internalId()) - 1;
}

QModelIndex PassTree::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : 0);
}

QModelIndex PassTree::parent(const QModelIndex& child) const {
  if (!child.isValid() || child.internalId() == 0) return {};
  return createIndex(pass_of(child), 0, quintptr{0});
}

int PassTree::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return static_cast<int>(passes_.size());
  if (parent.internalId() != 0 || parent.column() != 0) return 0;
  return static_cast<int>(passes_[static_cast<size_t>(parent.row())].lines.size());
}

int PassTree::columnCount(const QModelIndex&) const {
  return 3;
}

QVariant PassTree::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int number = pass_of(index);
  const Entry& pass = passes_[static_cast<size_t>(number)];
  const bool is_pass = index.internalId() == 0;
  if (role == Qt::TextAlignmentRole && index.column() > 0) return int(Qt::AlignRight | Qt::AlignVCenter);
  if (role == Qt::FontRole && is_pass && contains(marked_, number)) {
    QFont font;
    font.setBold(true);
    return font;
  }
  if (role == Qt::ToolTipRole && is_pass && index.column() == 0 && contains(marked_, number))
    return plain_tooltip(tr("%1: reads the chosen tensor").arg(pass.name));
  if (role == Qt::ToolTipRole && is_pass && index.column() == 1 && pass.decides_peak)
    return tr("The highest of all passes: it decides the peak.");
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  if (!is_pass) {
    if (index.column() != 0) return {};
    const QString& line = pass.lines[index.row()];
    return role == Qt::ToolTipRole ? plain_tooltip(line) : with_short_names(line);
  }
  if (role == Qt::ToolTipRole && index.column() == 0) return plain_tooltip(pass.full_name);
  switch (index.column()) {
    case 0:
      return contains(marked_, number) ? QStringLiteral("● ") + pass.name : pass.name;
    case 1:
      return pass.decides_peak ? tr("%1 ◀").arg(pass.peak) : pass.peak;
    default:
      return pass.time;
  }
}

QVariant PassTree::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == 0 ? tr("Pass") : section == 1 ? tr("Peak") : tr("Time");
}

}  // namespace headroom::gui
